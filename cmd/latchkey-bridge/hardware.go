package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/agent/driver/zigbee2mqtt"
	"latchkey.dev/internal/certfile"
)

// hardware has the flags for the driver of the locks, which run and doctor share.
type hardware struct {
	Driver string     `help:"What talks to the locks: sim (simulated ones) or zigbee2mqtt. Default: sim for run; the driver of the last run for doctor." enum:",sim,zigbee2mqtt" default:"" env:"LATCHKEY_BRIDGE_DRIVER"`
	MQTT   mqtt       `embed:"" prefix:"mqtt-" envprefix:"LATCHKEY_MQTT_" group:"Zigbee2MQTT"`
	Sim    simulation `embed:"" prefix:"sim-" group:"Simulated locks"`
}

type mqtt struct {
	URL          string   `help:"The broker: mqtt://host:1883, or mqtts://host:8883 with TLS." default:"mqtt://localhost:1883" env:"URL"`
	Base         string   `help:"Zigbee2MQTT's base_topic." default:"zigbee2mqtt" env:"BASE"`
	User         string   `help:"The broker's user for this bridge." env:"USER"`
	Password     string   `json:"-" help:"Its password. Better set it in the environment or a file, where other users of this machine cannot see it." env:"PASSWORD" xor:"password"`
	PasswordFile string   `help:"A file that holds the password." env:"PASSWORD_FILE" type:"path" xor:"password"`
	CA           string   `help:"PEM file of the CA that signed the broker's certificate; empty: the machine's CAs." env:"CA" type:"path"`
	Cert         string   `help:"PEM file of a client certificate for the broker." env:"CERT" type:"path" and:"pair"`
	Key          string   `help:"PEM file of its key." env:"KEY" type:"path" and:"pair"`
	Insecure     bool     `help:"Allow mqtt:// to another machine: PINs then cross the network unencrypted." env:"INSECURE"`
	Lock         []string `help:"Settings that Zigbee2MQTT does not know, once for each lock: its address, its number of users, the allowed PIN lengths, and read=no if it never answers when a slot is read." placeholder:"0x00158d0001a2b3c4:slots=30,pin=4-8,read=no" sep:";" env:"LOCK"`
}

type simulation struct {
	Locks   map[string]string `help:"Simulated locks, as address=profile; profiles: zwave, zwaveUser, matter, zigbee2mqtt, nuki, ttlock, pausable." placeholder:"FRONT=zwave" mapsep:","`
	Latency time.Duration     `help:"How long a simulated operation takes." default:"0s"`
	Seed    uint64            `help:"Seed of the simulation." default:"1"`
	Site    string            `name:"site" aliases:"sim-house" help:"URL of simulated locks in another process on this machine, instead of --sim-locks. For tests." placeholder:"http://127.0.0.1:9000"`
	Keypads string            `help:"host:port to serve the simulated keypads on: POST /{address} with {\"pin\": \"...\"}; empty: none." placeholder:"127.0.0.1:0"`
	Script  string            `help:"File with faults of the simulated locks and when they happen, one JSON object per line." type:"path"`
}

// storedSettings are the driver's settings, without passwords, that a running bridge stores in its directory for the doctor command.
type storedSettings struct {
	Hardware hardware `json:"hardware"`
	Password bool     `json:"password"` // true if the password of the broker was given directly, not in a file
}

// encodeSettings returns the driver's settings as JSON, without passwords. The bridge stores them for doctor.
func (h *hardware) encodeSettings() ([]byte, error) {
	return json.Marshal(storedSettings{Hardware: *h, Password: h.MQTT.Password != ""})
}

// openDriver opens the driver that the flags choose. dir is the bridge's directory. The returned function stops what openDriver started.
// The caller must call it after closing the driver, but not after an error.
func (h *hardware) openDriver(ctx context.Context, dir string, log *slog.Logger) (driver.Driver, func() error, error) {
	if h.Driver == "zigbee2mqtt" {
		d, err := h.MQTT.openDriver(log)
		return d, func() error { return nil }, err
	}
	return h.Sim.openDriver(ctx, dir, log)
}

// openDriver opens the driver for locks behind Zigbee2MQTT. It does not wait for the broker, so it fails only for wrong flags or files.
func (m *mqtt) openDriver(log *slog.Logger) (driver.Driver, error) {
	c := zigbee2mqtt.Config{
		URL: m.URL, Base: m.Base, User: m.User, Password: m.Password, Insecure: m.Insecure, Log: log, Tunings: map[string]zigbee2mqtt.Tuning{},
	}
	if m.PasswordFile != "" {
		raw, err := os.ReadFile(m.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("the broker's password: %w", err)
		}
		c.Password = strings.TrimRight(string(raw), "\r\n")
	}
	for _, line := range m.Lock {
		address, t, err := zigbee2mqtt.ParseTuning(line)
		if err != nil {
			return nil, fmt.Errorf("--mqtt-lock: %w", err)
		}
		c.Tunings[address] = t
	}
	var err error
	if c.TLS, err = m.tlsConfig(); err != nil {
		return nil, err
	}
	return zigbee2mqtt.New(c)
}

// tlsConfig returns the TLS configuration for the broker, with the CA and the client certificate of the flags. Without a CA, the machine's
// are trusted; without a certificate, none is sent.
func (m *mqtt) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if m.CA != "" {
		var err error
		if config.RootCAs, err = certfile.Pool(m.CA); err != nil {
			return nil, fmt.Errorf("the broker's CA: %w", err)
		}
	}
	if m.Cert != "" {
		pair, err := tls.LoadX509KeyPair(m.Cert, m.Key)
		if err != nil {
			return nil, fmt.Errorf("the client certificate for the broker: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// openDriver opens a driver of simulated locks, which store their codes in the bridge's directory dir, and starts their keypads and script.
// The returned function stops them. With --sim-site it connects to simulated locks of another process instead.
func (s *simulation) openDriver(ctx context.Context, dir string, log *slog.Logger) (driver.Driver, func() error, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	if s.Site != "" {
		if len(s.Locks) > 0 || s.Keypads != "" || s.Script != "" {
			return nil, nil, errors.New("--sim-site takes no other --sim flag: the locks are in the other process")
		}
		return sim.Dial(s.Site), func() error { return nil }, nil
	}
	config := sim.Config{Seed: s.Seed, StorageFile: filepath.Join(dir, "sim-locks.json")}
	for address, profile := range s.Locks {
		config.Locks = append(config.Locks, sim.Spec{Address: address, Profile: profile, Latency: s.Latency})
	}
	site, err := sim.NewSite(config)
	if err != nil {
		return nil, nil, err
	}
	closers := []func() error{site.Close}
	closeAll := func() (err error) {
		for _, c := range closers {
			err = errors.Join(err, c())
		}
		return err
	}
	if s.Script != "" {
		stop, err := s.playScript(ctx, site, log)
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		closers = append([]func() error{stop}, closers...)
	}
	if s.Keypads != "" {
		stop, err := s.serveKeypads(ctx, site, log)
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		closers = append([]func() error{stop}, closers...)
	}
	return site.Driver(), closeAll, nil
}

// playScript plays the fault script of --sim-script on the simulated locks in the background, until stop is called. It fails for a
// script that cannot be played.
func (s *simulation) playScript(ctx context.Context, site *sim.Site, log *slog.Logger) (stop func() error, err error) {
	f, err := os.Open(s.Script)
	if err != nil {
		return nil, fmt.Errorf("the script: %w", err)
	}
	moves, err := sim.ReadScript(f)
	if err = errors.Join(err, f.Close()); err == nil {
		err = site.Check(moves)
	}
	if err != nil {
		return nil, fmt.Errorf("--sim-script %s: %w", s.Script, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := site.Play(ctx, moves); err != nil && ctx.Err() == nil {
			log.Error("script", "error", err)
		}
	}()
	return func() error { cancel(); <-done; return nil }, nil
}

// serveKeypads serves the keypads of the simulated locks over HTTP at the address of --sim-keypads, in the background, until stop is
// called. It logs the URL, and later errors.
func (s *simulation) serveKeypads(ctx context.Context, site *sim.Site, log *slog.Logger) (stop func() error, err error) {
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Keypads)
	if err != nil {
		return nil, fmt.Errorf("keypads: %w", err)
	}
	srv := &http.Server{Handler: sim.Keypads(site), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
			log.Error("keypads", "error", err)
		}
	}()
	log.Info("keypads", "url", "http://"+lis.Addr().String()+"/{address}")
	return func() error { err := srv.Close(); <-done; return err }, nil
}
