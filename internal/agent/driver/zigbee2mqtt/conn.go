package zigbee2mqtt

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
)

const (
	dialWait    = 10 * time.Second
	packetWait  = 10 * time.Second
	keepAlive   = 30       // seconds
	maxPacket   = 16 << 20 // bytes: bridge/devices of a large network is some megabytes
	maxInFlight = 32

	// nobodyListens is the broker's answer when a message has no subscriber.
	nobodyListens = packets.PubackNoMatchingSubscribers
)

// message is one that arrived.
type message struct {
	topic    string
	payload  []byte
	retained bool
}

// conn is a connection to the broker. A message sent on it is never sent again on another.
type conn struct {
	client *paho.Client
	topics map[string]bool // subscribed; only session's goroutine touches it
}

// connect holds connections to the broker, one after the other, until ctx ends.
func (d *Driver) connect(ctx context.Context) {
	wait := d.pace.first
	for ctx.Err() == nil {
		began := time.Now()
		err := d.session(ctx)
		if ctx.Err() != nil {
			return
		}
		d.lost(err)
		if time.Since(began) > d.pace.most {
			wait = d.pace.first
		}
		pause := wait/2 + mathrand.N(wait/2+1)
		wait = min(2*wait, d.pace.most)
		d.log.Warn("no connection to the MQTT broker", "broker", d.host, "error", err, "retry_in", pause.Round(time.Millisecond))
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
}

// session is one connection, from dialing to its end.
func (d *Driver) session(ctx context.Context) error {
	socket, err := d.dial(ctx)
	if err != nil {
		return err
	}
	broken := make(chan error, 1)
	breaks := func(err error) {
		select {
		case broken <- err:
		default:
		}
	}
	client := paho.NewClient(paho.ClientConfig{
		Conn: socket, PacketTimeout: packetWait, OnClientError: breaks,
		OnServerDisconnect: func(p *paho.Disconnect) {
			breaks(fmt.Errorf("the broker ended the connection, reason %#x", p.ReasonCode))
		},
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
			select {
			case d.inbox <- message{p.Packet.Topic, p.Packet.Payload, p.Packet.Retain}:
			case <-ctx.Done():
			}
			return true, nil
		}},
	})
	answer, err := client.Connect(ctx, d.greeting())
	if err != nil {
		return explain(answer, err)
	}
	defer func() { _ = client.Disconnect(&paho.Disconnect{}) }()
	c := &conn{client: client, topics: map[string]bool{}}
	own := []string{d.place.bridge("state"), d.place.bridge("logging"), d.place.bridge("info"), d.place.bridge("devices")}
	if err := c.subscribe(ctx, own); err != nil {
		return fmt.Errorf("subscribe below %s: %w", d.cfg.Base, err)
	}
	d.connected(c)
	d.log.Info("connected to the MQTT broker", "broker", d.host, "base", d.cfg.Base)
	for {
		if err := c.keep(ctx, d.wanted(), own); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-broken:
			return err
		case <-client.Done():
			return errors.New("the connection broke")
		case <-d.resub:
		}
	}
}

func (d *Driver) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	dialer := &net.Dialer{}
	if !d.secure {
		return dialer.DialContext(ctx, "tcp", d.host)
	}
	config := d.cfg.TLS
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	socket, err := (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, "tcp", d.host)
	if err != nil {
		return nil, err
	}
	return packets.NewThreadSafeConn(socket), nil
}

// greeting asks for a session that ends with its connection: nothing is kept for us, and nothing we
// sent is sent again.
func (d *Driver) greeting() *paho.Connect {
	inFlight, size, none := uint16(maxInFlight), uint32(maxPacket), uint32(0)
	return &paho.Connect{
		ClientID: "latchkey-bridge-" + rand.Text()[:8], CleanStart: true, KeepAlive: keepAlive,
		Username: d.cfg.User, UsernameFlag: d.cfg.User != "", Password: []byte(d.cfg.Password), PasswordFlag: d.cfg.Password != "",
		Properties: &paho.ConnectProperties{SessionExpiryInterval: &none, ReceiveMaximum: &inFlight, MaximumPacketSize: &size, RequestProblemInfo: true},
	}
}

func explain(answer *paho.Connack, err error) error {
	if answer == nil {
		return fmt.Errorf("the broker did not greet back: %w; it must speak MQTT 5, as Mosquitto does from 1.6 on", err)
	}
	switch answer.ReasonCode {
	case packets.ConnackBadUsernameOrPassword, packets.ConnackNotAuthorized:
		return errors.New("the broker refuses our user and password")
	case packets.ConnackUnsupportedProtocolVersion:
		return errors.New("the broker does not speak MQTT 5, as Mosquitto does from 1.6 on")
	}
	return fmt.Errorf("the broker refuses us, reason %#x: %w", answer.ReasonCode, err)
}

// keep has exactly the wanted topics and our own subscribed.
func (c *conn) keep(ctx context.Context, wanted, own []string) error {
	var fresh, stale []string
	for _, t := range wanted {
		if !c.topics[t] {
			fresh = append(fresh, t)
		}
	}
	for t := range maps.Keys(c.topics) {
		if !slices.Contains(wanted, t) && !slices.Contains(own, t) {
			stale = append(stale, t)
		}
	}
	if len(stale) > 0 {
		if _, err := c.client.Unsubscribe(ctx, &paho.Unsubscribe{Topics: stale}); err != nil {
			return fmt.Errorf("unsubscribe: %w", err)
		}
		for _, t := range stale {
			delete(c.topics, t)
		}
	}
	return c.subscribe(ctx, fresh)
}

func (c *conn) subscribe(ctx context.Context, topics []string) error {
	for some := range slices.Chunk(topics, 64) {
		s := &paho.Subscribe{}
		for _, t := range some {
			s.Subscriptions = append(s.Subscriptions, paho.SubscribeOptions{Topic: t, QoS: 1, NoLocal: true})
		}
		if _, err := c.client.Subscribe(ctx, s); err != nil {
			return err
		}
		for _, t := range some {
			c.topics[t] = true
		}
	}
	return nil
}

// The ways in which sending can end.
var (
	errUnsent  = errors.New("not sent")                            // and never will be
	errNobody  = errors.New("nobody listens")                      // delivered to nobody, kept by nobody
	errUnknown = errors.New("the broker did not say if it has it") // it may have been delivered
)

// publish sends a command that is worth something for expiry, in whole seconds.
func (d *Driver) publish(ctx context.Context, topic string, payload []byte, expiry time.Duration) error {
	d.mu.Lock()
	c := d.conn
	d.mu.Unlock()
	seconds := uint32(expiry / time.Second)
	if c == nil || seconds == 0 || ctx.Err() != nil {
		return errUnsent
	}
	answer, err := c.client.Publish(ctx, &paho.Publish{
		Topic: topic, QoS: 1, Payload: payload, Properties: &paho.PublishProperties{MessageExpiry: &seconds},
	})
	switch {
	case answer != nil && answer.ReasonCode == nobodyListens:
		return errNobody
	case answer != nil && answer.ReasonCode >= 0x80:
		d.log.Error("the broker refuses a command; may this user publish there?", "topic", topic, "reason", answer.ReasonCode)
		return errUnsent
	case err != nil:
		return errUnknown
	}
	return nil
}
