package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/test/z2mtest"
)

// A machine on site has no docs directory: the advice itself has to contain the cure.
func TestAdviceForTheBrokerContainsTheCure(t *testing.T) {
	for _, tt := range []struct {
		m      mqtt
		detail string
		want   string
	}{
		{mqtt{}, "no connection to the MQTT broker a:1883: the broker refuses our user and password", "LATCHKEY_MQTT_USER"},
		{mqtt{User: "u", Password: "p"}, "no connection to the MQTT broker a:1883: the broker refuses our user and password", "mosquitto_passwd"},
		{mqtt{User: "u", PasswordFile: "f"}, "no connection to the MQTT broker a:1883: the broker refuses our user and password", "mosquitto_passwd"},
		{mqtt{}, "no connection to the MQTT broker a:1883: the broker does not support MQTT 5 (Mosquitto: since 1.6)", "update the broker"},
		{mqtt{}, "no connection to the MQTT broker a:8883: tls: failed to verify certificate: x509: certificate signed by unknown authority", "LATCHKEY_MQTT_CA"},
		{mqtt{}, "no connection to the MQTT broker a:1883: dial tcp 192.0.2.1:1883: connect: connection refused", "systemctl status mosquitto"},
		{mqtt{Base: "z"}, "Zigbee2MQTT is offline, says z/bridge/state on the MQTT broker a:1883", "systemctl status zigbee2mqtt"},
		{mqtt{Base: "z"}, `the MQTT broker a:1883 has nothing on z/bridge/devices: is Zigbee2MQTT running, and is "z" its base topic?`, "LATCHKEY_MQTT_BASE"},
		{mqtt{}, "something else", "systemctl status"},
	} {
		if got := tt.m.adviceFor(tt.detail); !strings.Contains(got, tt.want) || strings.Contains(got, "docs/") {
			t.Errorf("%s: advice %q, want one with %q", tt.detail, got, tt.want)
		}
	}
}

// A bridge that runs without the password of its user cannot connect, and only doctor can say why.
func TestDoctorMissesThePasswordOfTheUser(t *testing.T) {
	passwords := filepath.Join(t.TempDir(), "passwords")
	if out, err := exec.CommandContext(t.Context(), "mosquitto_passwd", "-b", "-c", passwords, "bridge", "s3cret").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	broker := z2mtest.StartBroker(t, "allow_anonymous false", "password_file "+passwords)
	last := hardware{Driver: "zigbee2mqtt", MQTT: mqtt{URL: "mqtt://" + broker.Addr, Base: "zigbee2mqtt", User: "bridge"}}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	found := new(doctor).checkDriver(ctx, last.encodeSettings)
	if len(found) != 1 || found[0].OK || !strings.Contains(found[0].Advice, "the user bridge has no password: set LATCHKEY_MQTT_PASSWORD") {
		t.Errorf("%+v", found)
	}
}
