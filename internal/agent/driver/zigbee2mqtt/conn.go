package zigbee2mqtt

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/clock"
)

const (
	dialTimeout   = 10 * time.Second
	packetTimeout = 10 * time.Second // longest wait for the broker's answer to a packet; a command without an answer has the result errUnknown
	keepAlive     = 30               // keep-alive interval of MQTT in seconds
	maxPacket     = 16 << 20         // size limit in bytes; the device list bridge/devices of a large network has some megabytes
	maxInFlight   = 32               // messages that the broker may send before it gets acknowledgements

	// reasonNoSubscribers is the broker's answer to a message without a subscriber.
	reasonNoSubscribers = packets.PubackNoMatchingSubscribers
)

// message is a message from the broker.
type message struct {
	topic    string
	payload  []byte
	retained bool
}

// conn is one connection to the MQTT broker. A message is never sent again on another connection, because it might take effect twice.
type conn struct {
	client *paho.Client
	topics map[string]bool // subscribed topics; used only by the goroutine of runConnection
}

// keepConnected connects to the broker, and reconnects with backoff until ctx ends.
func (d *Driver) keepConnected(ctx context.Context) {
	wait := d.timings.firstRetry
	for ctx.Err() == nil {
		began := time.Now()
		err := d.runConnection(ctx)
		if ctx.Err() != nil {
			return
		}
		d.setDisconnected(err)
		if time.Since(began) > d.timings.maxRetry {
			wait = d.timings.firstRetry
		}
		pause := clock.Jitter(wait)
		wait = min(2*wait, d.timings.maxRetry)
		d.log.Warn("no connection to the MQTT broker", "broker", d.host, "error", err, "retry_in", pause.Round(time.Millisecond))
		clock.Sleep(ctx, pause)
	}
}

// runConnection connects to the broker, subscribes, and passes received messages to d.inbox. It changes the subscriptions when the locks or
// their names change. It returns why the connection ended or was not made, and never nil.
func (d *Driver) runConnection(ctx context.Context) error {
	socket, err := d.dial(ctx)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	fail := func(err error) {
		select {
		case failed <- err:
		default:
		}
	}
	client := paho.NewClient(paho.ClientConfig{
		Conn: socket, PacketTimeout: packetTimeout, OnClientError: fail,
		OnServerDisconnect: func(p *paho.Disconnect) {
			fail(fmt.Errorf("the broker ended the connection, reason %#x", p.ReasonCode))
		},
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
			select {
			case d.inbox <- message{p.Packet.Topic, p.Packet.Payload, p.Packet.Retain}:
			case <-ctx.Done():
			}
			return true, nil
		}},
	})
	answer, err := client.Connect(ctx, d.connectPacket())
	if err != nil {
		return connectError(answer, err)
	}
	defer func() { _ = client.Disconnect(&paho.Disconnect{}) }()
	c := &conn{client: client, topics: map[string]bool{}}
	fixed := []string{d.topics.bridge("state"), d.topics.bridge("logging"), d.topics.bridge("info"), d.topics.bridge("devices")}
	if err := c.subscribe(ctx, fixed); err != nil {
		return fmt.Errorf("subscribe below %s: %w", d.cfg.Base, err)
	}
	d.log.Info("connected to the MQTT broker", "broker", d.host, "base", d.cfg.Base)
	for {
		topics, discovered := d.lockTopics()
		if err := c.updateSubscriptions(ctx, topics, fixed); err != nil {
			return err
		}
		d.setSubscribed(c, topics, discovered)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return err
		case <-client.Done():
			return errors.New("the connection broke")
		case <-d.resubscribe:
		}
	}
}

// dial opens the network connection to the broker, with TLS for mqtts.
func (d *Driver) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
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

// connectPacket returns the MQTT connect request. It asks the broker to end the session with the connection, so that the broker stores no
// messages.
func (d *Driver) connectPacket() *paho.Connect {
	inFlight, size, none := uint16(maxInFlight), uint32(maxPacket), uint32(0)
	return &paho.Connect{
		ClientID: "latchkey-bridge-" + rand.Text()[:8], CleanStart: true, KeepAlive: keepAlive,
		Username: d.cfg.User, UsernameFlag: d.cfg.User != "", Password: []byte(d.cfg.Password), PasswordFlag: d.cfg.Password != "",
		Properties: &paho.ConnectProperties{SessionExpiryInterval: &none, ReceiveMaximum: &inFlight, MaximumPacketSize: &size, RequestProblemInfo: true},
	}
}

// connectError explains err, with which the broker refused the connection. answer is the broker's packet; nil if none came.
func connectError(answer *paho.Connack, err error) error {
	if answer == nil {
		return fmt.Errorf("the broker did not answer: %w; it must support MQTT 5 (Mosquitto: since 1.6)", err)
	}
	switch answer.ReasonCode {
	case packets.ConnackBadUsernameOrPassword, packets.ConnackNotAuthorized:
		return errors.New("the broker " + driver.RefusedLogin)
	case packets.ConnackUnsupportedProtocolVersion:
		return errors.New("the broker does not support MQTT 5 (Mosquitto: since 1.6)")
	}
	return fmt.Errorf("the broker refuses us, reason %#x: %w", answer.ReasonCode, err)
}

// updateSubscriptions subscribes to lockTopics, and ends all other subscriptions except fixed, to which the caller has subscribed before.
// It runs after each connect, and when locks were added, removed or renamed.
func (c *conn) updateSubscriptions(ctx context.Context, lockTopics, fixed []string) error {
	var added, removed []string
	for _, t := range lockTopics {
		if !c.topics[t] {
			added = append(added, t)
		}
	}
	for t := range maps.Keys(c.topics) {
		if !slices.Contains(lockTopics, t) && !slices.Contains(fixed, t) {
			removed = append(removed, t)
		}
	}
	if len(removed) > 0 {
		if _, err := c.client.Unsubscribe(ctx, &paho.Unsubscribe{Topics: removed}); err != nil {
			return fmt.Errorf("unsubscribe: %w", err)
		}
		for _, t := range removed {
			delete(c.topics, t)
		}
	}
	return c.subscribe(ctx, added)
}

// subscribe subscribes to topics, in packets of at most 64, and adds those of each accepted packet to c.topics.
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

// Errors of publishing a message.
var (
	errUnsent       = errors.New("not sent")                            // the message was not sent and never will be
	errNoSubscriber = errors.New("no subscriber listens")               // no subscriber received the message, and the broker does not store it
	errUnknown      = errors.New("the broker did not say if it has it") // the message may have been delivered
)

// publish sends a command, which the broker drops if it cannot deliver it within expiry, rounded down to seconds. It returns nil if the
// broker has the command, otherwise errUnsent (also if the broker refuses it, or if expiry is below a second), errNoSubscriber or
// errUnknown.
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
	case answer != nil && answer.ReasonCode == reasonNoSubscribers:
		return errNoSubscriber
	case answer != nil && answer.ReasonCode >= 0x80:
		d.log.Error("the broker refuses a command; check that this user may publish to the topic", "topic", topic, "reason", answer.ReasonCode)
		return errUnsent
	case err != nil:
		return errUnknown
	}
	return nil
}
