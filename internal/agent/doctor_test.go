package agent

import (
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/lock/slot"
)

// The advice names what to change: the broker, its password, or Zigbee2MQTT.
func TestAdviceOnTheConnection(t *testing.T) {
	since := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		health ConnectionHealth
		ready  bool
		ok     bool
		advice string
	}{
		{"connected", ConnectionHealth{Peer: "MQTT broker a:1883", Since: since}, true, true, ""},
		{"locks are not known yet", ConnectionHealth{Peer: "MQTT broker a:1883", Since: since}, false, false, "again in a few seconds"},
		{"no broker", ConnectionHealth{Cause: slot.BrokerUnreachable, Detail: "connection refused", Since: since}, true, false, "systemctl status mosquitto"},
		{
			"wrong password", ConnectionHealth{Cause: slot.BrokerUnreachable, Detail: "the broker refuses our user and password", Since: since},
			true, false, "LATCHKEY_MQTT_PASSWORD",
		},
		{"not connected, and no locks", ConnectionHealth{Cause: slot.BrokerUnreachable, Detail: "no such host", Since: since}, false, false, "--mqtt settings"},
		{"no gateway, and no locks", ConnectionHealth{Cause: slot.GatewayOffline, Detail: "offline", Since: since}, false, false, "--mqtt-base"},
		{"no gateway", ConnectionHealth{Cause: slot.GatewayOffline, Detail: "offline", Since: since}, true, false, "systemctl status zigbee2mqtt"},
	} {
		f := examineConnection(c.health, c.ready)
		if f.OK != c.ok || !strings.Contains(f.Advice, c.advice) || (f.Advice == "") != c.ok {
			t.Errorf("%s: %+v, want advice with %q", c.name, f, c.advice)
		}
		if c.health.Detail != "" && !strings.Contains(f.Detail, c.health.Detail) {
			t.Errorf("%s: the finding says %q", c.name, f.Detail)
		}
	}
}
