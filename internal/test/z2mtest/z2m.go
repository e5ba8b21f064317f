package z2mtest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"
)

// Z2M is a simulated Zigbee2MQTT.
type Z2M struct {
	t     testing.TB
	base  string
	mu    sync.Mutex
	mqtt  *paho.Client // nil: stopped
	addr  string
	locks map[string]*virtualLock // by address
	// commands arrived, in order
	commands []Command
}

// Command is a command that arrived over MQTT.
type Command struct {
	Topic   string
	Payload string
	Expiry  time.Duration // 0: it would never have expired
}

// Start starts a simulated Zigbee2MQTT with locks. It connects to the broker, uses topics below base, and ends with the test.
func Start(t testing.TB, broker *Broker, base string, locks ...Lock) *Z2M {
	t.Helper()
	z := &Z2M{t: t, base: base, addr: broker.Addr, locks: map[string]*virtualLock{}}
	for _, l := range locks {
		z.locks[l.Address] = newVirtual(l)
	}
	z.Connect()
	t.Cleanup(z.Stop)
	return z
}

// Connect connects to the broker, also again after Stop.
func (z *Z2M) Connect() {
	z.t.Helper()
	socket, err := new(net.Dialer).DialContext(z.t.Context(), "tcp", z.addr)
	if err != nil {
		z.t.Fatal(err)
	}
	client := paho.NewClient(paho.ClientConfig{Conn: socket, OnPublishReceived: []func(paho.PublishReceived) (bool, error){
		func(p paho.PublishReceived) (bool, error) { z.onPublish(p.Packet); return true, nil },
	}})
	greeting := &paho.Connect{
		ClientID: "zigbee2mqtt-" + rand.Text(), CleanStart: true, KeepAlive: 60,
		WillMessage: &paho.WillMessage{Topic: z.base + "/bridge/state", Payload: []byte(`{"state":"offline"}`), Retain: true, QoS: 1},
	}
	if _, err := client.Connect(z.t.Context(), greeting); err != nil {
		z.t.Fatal(err)
	}
	sub := &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: z.base + "/#", NoLocal: true, RetainHandling: 2}}}
	if _, err := client.Subscribe(z.t.Context(), sub); err != nil {
		z.t.Fatal(err)
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	z.mqtt = client
	z.publish("bridge/state", map[string]string{"state": "online"}, true)
	z.publishDevices()
}

// Stop disconnects from the broker, which keeps the retained messages.
func (z *Z2M) Stop() {
	z.mu.Lock()
	client := z.mqtt
	z.mqtt = nil
	z.mu.Unlock()
	if client != nil {
		_ = client.Disconnect(&paho.Disconnect{})
	}
}

// publish publishes v as JSON on a topic below the base topic. The caller holds z.mu.
func (z *Z2M) publish(what string, v any, retain bool) {
	payload, err := json.Marshal(v)
	if err != nil {
		z.t.Error(err)
		return
	}
	if z.mqtt != nil { // like the real Zigbee2MQTT, it publishes at most once
		_, _ = z.mqtt.Publish(context.Background(), &paho.Publish{Topic: z.base + "/" + what, Payload: payload, Retain: retain})
	}
}

// publishDevices publishes bridge/info and bridge/devices. The caller holds z.mu.
func (z *Z2M) publishDevices() {
	devices := []any{map[string]any{"ieee_address": "0x00124b0000000000", "friendly_name": "Coordinator", "type": "Coordinator", "definition": nil}}
	options := map[string]any{}
	for _, v := range z.locks {
		devices = append(devices, v.description())
		options[v.Address] = map[string]any{"friendly_name": v.Name, "expose_pin": v.ExposePIN}
	}
	z.publish("bridge/info", map[string]any{"version": "2.6.0", "config": map[string]any{"devices": options}}, true)
	z.publish("bridge/devices", devices, true)
}

// publishState publishes a message of a lock: what it reported now, and its earlier values except actions. The caller holds z.mu.
func (z *Z2M) publishState(v *virtualLock, reported map[string]any) {
	all := maps.Clone(v.state)
	for k, value := range reported {
		all[k] = value
		if !strings.HasPrefix(k, "action") {
			v.state[k] = value
		}
	}
	z.publish(v.Name, all, v.Retain)
}

// findLock returns the lock with an address or a friendly name, or nil.
func (z *Z2M) findLock(name string) *virtualLock {
	if v := z.locks[name]; v != nil {
		return v
	}
	for _, v := range z.locks {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// onPublish executes a command that arrived over MQTT. If a fault is queued for its lock, the command has this fault.
func (z *Z2M) onPublish(p *paho.Publish) {
	z.mu.Lock()
	defer z.mu.Unlock()
	rest := strings.TrimPrefix(p.Topic, z.base+"/")
	at := strings.LastIndexByte(rest, '/')
	if at < 0 {
		return
	}
	name, verb := rest[:at], rest[at+1:]
	if verb != "set" && verb != "get" {
		return
	}
	c := Command{Topic: p.Topic, Payload: string(p.Payload)}
	if p.Properties.MessageExpiry != nil {
		c.Expiry = time.Duration(*p.Properties.MessageExpiry) * time.Second
	}
	z.commands = append(z.commands, c)
	v := z.findLock(name)
	var command map[string]json.RawMessage
	if json.Unmarshal(p.Payload, &command) != nil || v == nil {
		return
	}
	var f fault
	if len(v.faults) > 0 && verb == "set" {
		f, v.faults = v.faults[0], v.faults[1:]
	}
	switch {
	case f.lost, v.ignoresReads && verb == "get":
		return
	case f.logged != "":
		for key := range command {
			z.logFailure(v, verb, key, f.logged)
		}
		return
	}
	for key, raw := range command {
		z.executeCommand(v, verb, key, raw, f.mute)
	}
}

// logFailure publishes a failed command in bridge/logging. The caller holds z.mu.
func (z *Z2M) logFailure(v *virtualLock, verb, key, why string) {
	text := fmt.Sprintf("z2m: Publish '%s' '%s' to '%s' failed: '%s'", verb, key, v.Name, why)
	z.publish("bridge/logging", map[string]string{"level": "error", "message": text, "namespace": "z2m"}, false)
}

// executeCommand executes one key of a command, with the verb get or set, and publishes the lock's report unless mute is set. The caller
// holds z.mu.
func (z *Z2M) executeCommand(v *virtualLock, verb, key string, raw json.RawMessage, mute bool) {
	var reported map[string]any
	switch {
	case key == "pin_code" && verb == "set" && !v.NoCodes:
		var err error
		if reported, err = v.setPINCode(raw, time.Now()); err != nil {
			z.logFailure(v, verb, key, err.Error())
			return
		}
	case key == "pin_code" && !v.Unreadable:
		var c pinCode
		if json.Unmarshal(raw, &c) != nil || c.User == nil || *c.User < 0 || *c.User >= v.Users {
			z.logFailure(v, verb, key, "Error: userId must be in range for device")
			return
		}
		reported = v.readUser(*c.User)
	case (key == "read" || key == "write") && verb == "set":
		var err error
		if reported, err = v.accessLockout(key, raw); err != nil {
			z.logFailure(v, verb, key, err.Error())
			return
		}
	case key == "state" && verb == "set":
		var word string
		if json.Unmarshal(raw, &word) == nil && word == "UNLOCK" {
			v.bolt = "unlocked"
			v.unlocks++
			reported = map[string]any{"state": "UNLOCK", "lock_state": "unlocked"}
		}
	case key == "state":
		reported = map[string]any{}
	}
	if reported != nil && !mute && (verb == "get" || len(reported) > 0) {
		z.publishState(v, reported)
	}
}
