package zigbee2mqtt

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/z2mtest"
)

// trouble waits until the driver knows why it is not connected.
func (r *rig) trouble(d *Driver, word string) {
	r.t.Helper()
	r.until("the broker's refusal: "+word, func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.conn == nil && strings.Contains(d.connError, word)
	})
}

func TestUserAndPassword(t *testing.T) {
	passwords := filepath.Join(t.TempDir(), "passwords")
	if out, err := exec.CommandContext(t.Context(), "mosquitto_passwd", "-b", "-c", passwords, "bridge", "s3cret").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	r := &rig{t: t, broker: z2mtest.StartBroker(t, "allow_anonymous false", "password_file "+passwords)}
	url := "mqtt://" + r.broker.Addr
	wrong := r.drive(Config{URL: url, User: "bridge", Password: "wr0ng"}, redialing())
	r.trouble(wrong, "refuses our user and password")
	right := r.drive(Config{URL: url, User: "bridge", Password: "s3cret"}, redialing())
	r.until("connected", func() bool {
		right.mu.Lock()
		defer right.mu.Unlock()
		return right.conn != nil
	})
	if r.log.Has("s3cret") || r.log.Has("wr0ng") {
		t.Error("a password was logged")
	}
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert, private := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, private: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &rig{t: t, broker: z2mtest.StartBroker(t, "allow_anonymous true", "certfile "+cert, "keyfile "+private)}
	url := "mqtts://" + r.broker.Addr
	stranger := r.drive(Config{URL: url}, redialing())
	r.trouble(stranger, "certificate")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	d := r.drive(Config{URL: url, TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}, redialing())
	r.until("connected", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.conn != nil
	})
}

func TestNoBroker(t *testing.T) {
	broker := z2mtest.StartBroker(t)
	r := &rig{t: t, broker: broker}
	d := r.drive(Config{URL: "mqtt://" + broker.Addr}, redialing())
	ctx, cancel := contextFor(t, 200*time.Millisecond)
	defer cancel()
	if _, err := d.Locks(ctx); err == nil || !strings.Contains(err.Error(), "zigbee2mqtt/bridge/devices") {
		t.Errorf("a broker without Zigbee2MQTT: %v", err)
	}
	broker.Stop()
	r.trouble(d, "")
	ctx, cancel = contextFor(t, 50*time.Millisecond)
	defer cancel()
	if _, err := d.Locks(ctx); err == nil || !strings.Contains(err.Error(), "no connection to the MQTT broker") {
		t.Errorf("no broker: %v", err)
	}
}

// A retained message, also a forged one, is old: it causes no event.
func TestRetainedMessagesCauseNoEvents(t *testing.T) {
	r := newRig(t, hasty(time.Second), z2mtest.Lock{Address: front, Name: "front", Users: 21, ReportsSuccessTimes: true, Unreadable: true})
	l := r.lock(front)
	for len(r.driver.Events()) > 0 {
		<-r.driver.Events()
	}
	old := message{topic: "zigbee2mqtt/front", retained: true,
		payload: []byte(`{"action":"unlock","action_user":1,"action_source_name":"keypad","last_successful_pincode_save":99,"tamper":true,"door_state":"open"}`)}
	r.driver.onMessage(old)
	r.z2m.LoseNextCommand(front)
	answer := make(chan driver.Answer, 1)
	go func() { answer <- r.set(l, 1, "345678", false) }()
	r.until("the command arrived", func() bool { return len(r.z2m.Commands()) > 0 })
	old.payload = []byte(`{"last_successful_pincode_save":100}`)
	r.driver.onMessage(old)
	if a := <-answer; a.Result.Final() || !a.Result.MayTakeEffect() {
		t.Errorf("a retained time of success is taken for an answer: %s", a.Result)
	}
	if len(r.driver.Events()) != 0 {
		t.Errorf("event %+v", <-r.driver.Events())
	}
	r.driver.onMessage(message{topic: "zigbee2mqtt/another device", payload: []byte(`{"action":"unlock"}`)})
	r.driver.onMessage(message{topic: "elsewhere/front", payload: []byte(`{"action":"unlock"}`)})
	r.driver.onMessage(message{topic: "zigbee2mqtt/bridge/devices", payload: []byte(`{`)})
	if len(r.driver.Events()) != 0 || !r.reported(l) {
		t.Error("messages for other devices had an effect")
	}
}

func TestEventsAtTheLockAreReported(t *testing.T) {
	r := newRig(t, defaultTimings, frontLock())
	l := r.lock(front)
	if a := r.set(l, 3, "345678", false); a.Result != slot.OK {
		t.Fatal(a.Result)
	}
	for _, tt := range []struct {
		do   func()
		want driver.Event
	}{
		{func() { r.z2m.TypePIN(front, "345678") }, driver.Event{Address: front, Kind: driver.Opened, Slot: 3}},
		{func() { r.z2m.TypePIN(front, "999999") }, driver.Event{Address: front, Kind: driver.Denied, Reason: "wrongPin"}},
		{func() { r.z2m.Program(front, 3, "") }, driver.Event{Address: front, Kind: driver.SlotChanged, Slot: 3}},
		{func() {
			r.z2m.Report(front, map[string]any{"door_state": "closed", "battery_low": false, "tamper": false})
			r.z2m.Report(front, map[string]any{"door_state": "open"})
		}, driver.Event{Address: front, Kind: driver.DoorOpened}},
		{func() { r.z2m.Report(front, map[string]any{"door_state": "error_jammed"}) }, driver.Event{Address: front, Kind: driver.Jammed}},
		{func() { r.z2m.Report(front, map[string]any{"battery_low": true}) }, driver.Event{Address: front, Kind: driver.BatteryLow}},
		{func() { r.z2m.Report(front, map[string]any{"tamper": true}) }, driver.Event{Address: front, Kind: driver.Tampered, Reason: "tamper"}},
	} {
		tt.do()
		if got := r.event(); got != tt.want {
			t.Errorf("got %+v, want %+v", got, tt.want)
		}
	}
	if s, _ := l.Status(t.Context()); s.Bolt != "jammed" {
		t.Errorf("a jammed lock is said to be %s", s.Bolt)
	}
}
