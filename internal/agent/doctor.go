package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// Finding is the result of one check of the doctor command.
type Finding struct {
	What   string // What is the short name of the check, for display
	OK     bool   // OK means that the check found nothing to mend
	Detail string // Detail is what the check found
	Advice string // Advice is what the user should do if the check failed; empty if OK
}

const (
	checkTimeout   = 5 * time.Second     // longest wait for a connection to the server; all network checks together get three times that
	renewalGrace   = 90 * 24 * time.Hour // how long an expired certificate can still be renewed
	renewalOverdue = 5 * 24 * time.Hour  // a certificate with less time left should have been renewed already
	maxClockOffset = 10 * time.Second    // largest acceptable error of the bridge's clock; beyond it, codes start and end noticeably late
)

// Examine makes all checks of the doctor command, except those of the locks, for the bridge with the store directory dir. It changes
// nothing, except that it creates a file and removes it at once, and does not disturb a running bridge. The findings contain also the
// checks that found nothing wrong. Some checks need a running bridge or a readable identity, and are left out without it.
func Examine(ctx context.Context, dir string) []Finding {
	var out []Finding
	out = append(out, examineFiles(dir)...)
	h, err := AskHealth(ctx, dir)
	switch {
	case err == nil:
		return append(out, examineRunning(ctx, dir, h)...)
	case !errors.Is(err, ErrNotRunning):
		return append(out, Finding{What: "running", Detail: err.Error(), Advice: "run doctor again when the bridge answers; do not enrol it again for this"})
	}
	id, err := storedIdentity(dir)
	if err != nil {
		return append(out, examineEnrolment(dir, err))
	}
	out = append(out,
		Finding{What: "running", Detail: ErrNotRunning.Error(), Advice: "start it: systemctl start latchkey-bridge if it is a service, or latchkey-bridge --dir " + dir + " run"},
		examineCertificate(dir, id, time.Now()))
	return append(out, examineReachability(ctx, id.ConnectAddress, &id)...)
}

// enrollCommand returns the command that enrols the bridge of the directory dir, for advice.
func enrollCommand(dir string) string { return "latchkey-bridge --dir " + dir + " enroll HOST:PORT" }

// stopCommand is how the user stops a running bridge, for advice.
const stopCommand = "systemctl stop latchkey-bridge if it runs as a service, otherwise end its `latchkey-bridge run`"

// examineRunning checks the running bridge of the directory dir by its own report h, and whether this machine reaches the server.
func examineRunning(ctx context.Context, dir string, h Health) []Finding {
	out := []Finding{examineSession(dir, h)}
	if h.Connection != nil {
		out = append(out, examineConnection(*h.Connection, h.Ready))
	}
	if h.Ready {
		out = append(out, examineClock(h))
	}
	return append(out, examineReachability(ctx, h.Service, nil)...)
}

// examineConnection checks the driver's connection to another program, such as an MQTT broker. ready means that the bridge knows its locks.
// The finding is OK only if the driver is connected and ready is true.
func examineConnection(c ConnectionHealth, ready bool) Finding {
	f := Finding{What: "driver", Detail: "connected to the " + c.Peer + " since " + FormatTime(c.Since), OK: c.Cause == "" && ready}
	switch c.Cause {
	case "":
		if !ready {
			f.Detail, f.Advice = f.Detail+", the locks are not known yet", "run doctor again in a few seconds"
		}
		return f
	case slot.BrokerUnreachable:
		f.Advice = "start the broker (systemctl status mosquitto), or correct the bridge's --mqtt settings and restart it"
		if strings.Contains(c.Detail, driver.RefusedLogin) {
			f.Advice = "compare the bridge's LATCHKEY_MQTT_USER and LATCHKEY_MQTT_PASSWORD with what was given to mosquitto_passwd, and restart the bridge"
		}
	default:
		f.Advice = "start Zigbee2MQTT (systemctl status zigbee2mqtt), or correct --mqtt-base and restart the bridge"
	}
	f.Detail = c.Detail + ", since " + FormatTime(c.Since)
	return f
}

// examineEnrolment turns err, the reason why the identity of the bridge in dir cannot be read, into a failed Finding with advice. Because
// enrolment deletes the store, it advises a new join code at once only for a bridge that is not enrolled. For an unknown error that is the last
// resort, after an attempt to restore the directory.
func examineEnrolment(dir string, err error) Finding {
	f := Finding{What: "enrolment", Detail: err.Error()}
	switch {
	case errors.Is(err, errNotEnrolled):
		f.Advice = "ask staff for a join code (latchkey bridge create, or join-code) and run: " + enrollCommand(dir)
	case errors.Is(err, ErrInUse):
		f.Advice = "run doctor again in a few seconds"
	case errors.Is(err, fs.ErrPermission):
		f.Advice = "run doctor as the bridge's user: sudo -u latchkey-bridge latchkey-bridge doctor"
	default:
		f.Advice = "see whether the disk is full or damaged; if the directory cannot be restored, remove it and enrol with a new join code"
	}
	return f
}

// storedIdentity reads the identity of a bridge that does not run from its store directory. It fails with errNotEnrolled if no bridge is
// enrolled there, or with [ErrInUse] if one runs. It creates no files in a directory without a store.
func storedIdentity(dir string) (id identity, err error) {
	if err := CheckStored(dir); err != nil {
		return id, err
	}
	st, err := openStore(dir)
	if err != nil {
		return id, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return st.identity()
}

// examineFiles checks that the store directory and the key file exist and that other users have no access to them, and that the disk takes
// new data (see examineDisk). Each check has a finding, also if it passed. Without the directory, that is the only finding.
func examineFiles(dir string) []Finding {
	out := []Finding{examinePermissions("store", dir, 0o077, "chmod 700")}
	if _, err := os.Stat(dir); err != nil {
		return out
	}
	return append(out, examinePermissions("key file", filepath.Join(dir, keyFile), 0o077, "chmod 600"), examineDisk(dir))
}

// probeSize is how much examineDisk writes, in bytes: more than a bridge writes in one step.
const probeSize = 256 << 10

// examineDisk checks that the store directory takes new data, by a file of probeSize that it removes at once. A bridge without room for it
// stops and does not start again.
func examineDisk(dir string) Finding {
	f := Finding{What: "disk"}
	probe, err := os.CreateTemp(dir, "doctor-*")
	if err == nil {
		_, err = probe.Write(make([]byte, probeSize))
		err = errors.Join(err, probe.Sync(), probe.Close(), os.Remove(probe.Name()))
	}
	switch {
	case err == nil:
		f.OK, f.Detail = true, "takes new data"
	case errors.Is(err, fs.ErrPermission):
		f.Detail, f.Advice = err.Error(), "run doctor as the bridge's user: sudo -u latchkey-bridge latchkey-bridge doctor"
	default:
		f.Detail, f.Advice = err.Error(), "make room on the disk (df -h "+dir+", journalctl --vacuum-size=100M), then start the bridge"
	}
	return f
}

// examinePermissions checks that the file or directory at path exists and has no permission bit of forbidden. what is its name in the
// finding; fix is the command that corrects the permissions, without the path.
func examinePermissions(what, path string, forbidden fs.FileMode, fix string) Finding {
	f := Finding{What: what, Detail: path}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Detail, f.Advice = path+" does not exist", "give the bridge's directory with --dir; if this machine is not enrolled yet, run latchkey-bridge enroll"
	case errors.Is(err, fs.ErrPermission):
		f.Detail, f.Advice = path+" cannot be read", "run doctor as the bridge's user: sudo -u latchkey-bridge latchkey-bridge doctor"
	case err != nil:
		f.Detail, f.Advice = err.Error(), "check the disk"
	case st.Mode().Perm()&forbidden != 0:
		f.Detail, f.Advice = fmt.Sprintf("%s has mode %o: others can read what opens the locks", path, st.Mode().Perm()), fix+" "+path
	default:
		f.OK = true
	}
	return f
}

// examineSession checks whether the running bridge of the directory dir has a session with the server.
func examineSession(dir string, h Health) Finding {
	if h.Epoch != 0 {
		return Finding{What: "session", OK: true, Detail: "with " + h.Service + " since " + FormatTime(h.Since)}
	}
	f := Finding{What: "session", Detail: h.Trouble, Advice: "see the findings below; the bridge works with what it has stored and tries again"}
	switch {
	case strings.Contains(h.Trouble, "another bridge with this identity"):
		f.Advice = "another machine runs with a copy of this directory: stop it, or enrol one of the two again"
	case strings.Contains(h.Trouble, "revoked"):
		f.Advice = "staff revoked this bridge: get a new join code (latchkey bridge join-code " + h.BridgeID + "), stop the bridge (" + stopCommand +
			"), run " + enrollCommand(dir) + ", and start the bridge again"
	case f.Detail == "":
		f.Detail = "none yet"
	}
	return f
}

// examineClock checks that the running bridge's clock is at most maxClockOffset from the server's. A clock that was not compared yet
// passes.
func examineClock(h Health) Finding {
	f := Finding{What: "clock", OK: true, Detail: fmt.Sprintf("%s, %v from the server's", h.ClockQuality, h.ClockOffset.Round(time.Millisecond))}
	switch {
	case h.ClockOffset.Abs() > maxClockOffset:
		f.OK = false
		f.Advice = "set the clock and keep it set: timedatectl set-ntp true; every window is cut by this error until then"
	case h.Epoch == 0 && h.ClockOffset == 0:
		f.Detail = "not compared with the server's since the start"
	}
	return f
}

// examineCertificate checks whether the own certificate of the bridge in dir is valid at the time now and was renewed in time.
func examineCertificate(dir string, id identity, now time.Time) Finding {
	f := Finding{What: "certificate"}
	leaf, err := id.leaf()
	if err != nil {
		f.Detail, f.Advice = err.Error(), "enrol again with a join code from staff"
		return f
	}
	left := leaf.NotAfter.Sub(now)
	f.Detail = "until " + FormatTime(leaf.NotAfter)
	switch {
	case now.Before(leaf.NotBefore.Add(-time.Hour)):
		f.Advice = "this machine's clock is before the certificate's start: set it (timedatectl set-ntp true)"
	case left < -renewalGrace:
		f.Advice = "it expired more than 90 days ago: get a join code (latchkey bridge join-code " + id.BridgeID + ") and run: " + enrollCommand(dir)
	case left < 0:
		f.Advice = "it has expired; start the bridge, which renews it when it connects"
	case left < renewalOverdue:
		f.Advice = "it should have been renewed by now: is the bridge running, and does it reach the server?"
	default:
		f.OK = true
	}
	return f
}

// examineReachability tests the connection to the server at address, host:port, step by step: name, TCP and TLS. It stops at the first
// failure. A nil id skips TLS, which needs the bridge's certificate.
func examineReachability(ctx context.Context, address string, id *identity) (out []Finding) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return []Finding{{What: "server", Detail: "its address is " + address, Advice: "enrol again, with --connect host:port if the server names a wrong one"}}
	}
	ctx, cancel := context.WithTimeout(ctx, 3*checkTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return []Finding{{What: "name", Detail: err.Error(), Advice: "check this machine's network and name server: resolvectl query " + host}}
	}
	out = append(out, Finding{What: "name", OK: true, Detail: host + " is " + strings.Join(found, ", ")})
	dialer := &net.Dialer{Timeout: checkTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return append(out, Finding{What: "reach", Detail: err.Error(), Advice: "check whether a firewall blocks " + address + " and whether the server runs"})
	}
	defer func() { _ = conn.Close() }()
	out = append(out, Finding{What: "reach", OK: true, Detail: address + " answers"})
	if id == nil {
		return out
	}
	return append(out, examineTLS(ctx, conn, *id))
}

// examineTLS makes a TLS handshake on a new connection and checks that the server's certificate is signed by the CA of the enrolment.
func examineTLS(ctx context.Context, conn net.Conn, id identity) Finding {
	f := Finding{What: "server's certificate"}
	config, _, err := id.tlsConfig(time.Now)
	if err != nil {
		f.Detail, f.Advice = err.Error(), "enrol again with a join code from staff"
		return f
	}
	config.NextProtos = []string{"h2"}
	secured := tls.Client(conn, config)
	var wrong *tls.CertificateVerificationError
	switch err := secured.HandshakeContext(ctx); {
	case errors.As(err, &wrong):
		f.Detail, f.Advice = err.Error(), "something between this machine and the server answers in its place, the server has another CA than at enrolment, or this machine's clock is wrong"
		if invalid := (x509.CertificateInvalidError{}); errors.As(err, &invalid) && invalid.Reason == x509.Expired {
			f.Advice = "set this machine's clock (timedatectl set-ntp true); if it is right, the server's operator has to renew its certificate"
		}
	case err != nil:
		f.Detail, f.Advice = err.Error(), "check whether "+id.ConnectAddress+" is the bridges' listener"
	default:
		f.OK, f.Detail = true, "is of the CA that this bridge was enrolled with"
	}
	return f
}
