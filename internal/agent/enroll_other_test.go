package agent

import (
	"errors"
	"strings"
	"testing"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

// A join code of a new bridge must not silently turn a machine into it: the locks of the former bridge would stay without one.
func TestEnrollKeepsAnotherBridge(t *testing.T) {
	for _, tt := range []struct {
		name     string
		bridge   string // whose join code it is
		replace  bool
		refused  bool
		identity string // afterwards
	}{
		{"the same bridge", "brg_1", false, false, "brg_1"},
		{"another bridge", "brg_2", false, true, "brg_1"},
		{"another bridge on purpose", "brg_2", true, false, "brg_2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newService(t)
			e := Enrolment{Dir: t.TempDir(), Address: s.public, JoinCode: s.joinCode(), Plaintext: true}
			if _, err := Enroll(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			<-s.enrolled
			s.spoil = func(r *lockv1.EnrollResponse) { r.BridgeId = tt.bridge }
			e.Replace = tt.replace
			_, err := Enroll(t.Context(), e)
			if (err != nil) != tt.refused {
				t.Errorf("error %v", err)
			}
			for _, want := range []string{"brg_1", "brg_2", "join-code brg_1", "join-code brg_2", "--replace", "used up"} {
				if tt.refused && err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want one about %q", err, want)
				}
			}
			if id, err := tempStore(t, e.Dir).identity(); err != nil || id.BridgeID != tt.identity {
				t.Errorf("the machine is %q, %v, want %q", id.BridgeID, err, tt.identity)
			}
		})
	}
}

// A revoked bridge still runs. Doctor sends its user to enroll, which must say what to do about the running bridge.
func TestEnrollOfARunningBridgeSaysToStopIt(t *testing.T) {
	s := newService(t)
	e := Enrolment{Dir: t.TempDir(), Address: s.public, JoinCode: s.joinCode(), Plaintext: true}
	tempStore(t, e.Dir)
	_, err := Enroll(t.Context(), e)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "systemctl stop latchkey-bridge") {
		t.Errorf("error %v, want one that says to stop the bridge", err)
	}
	f := examineSession(e.Dir, Health{BridgeID: "brg_1", Trouble: errRevoked.Error()})
	for _, want := range []string{"join-code brg_1", "systemctl stop latchkey-bridge", "latchkey-bridge --dir " + e.Dir + " enroll"} {
		if f.OK || !strings.Contains(f.Advice, want) {
			t.Errorf("advice %q, want one with %q", f.Advice, want)
		}
	}
}

func TestEnrollExplainsWhatItCannotReach(t *testing.T) {
	for _, tt := range []struct{ why, want string }{
		{"name resolver error: produced zero addresses", "the name latchkey.example is not known: check it and this machine's DNS"},
		{"dns: A record lookup error: lookup latchkey.example on 192.0.2.1:53: no such host", "the name latchkey.example is not known"},
		{"Error while dialing: dial tcp 192.0.2.1:7070: connect: connection refused", "nothing listens at latchkey.example:7070 (connection refused): check that the server runs"},
		{"context deadline exceeded", "whether a firewall blocks it"},
		{"no such join code", "no such join code"},
	} {
		if got := explainFailure("latchkey.example:7070", tt.why); !strings.Contains(got, tt.want) {
			t.Errorf("%q is explained as %q, want %q", tt.why, got, tt.want)
		}
	}
	e := Enrolment{Dir: t.TempDir(), Address: "127.0.0.1:1", JoinCode: newService(t).joinCode(), Plaintext: true}
	if _, err := Enroll(t.Context(), e); err == nil || !strings.Contains(err.Error(), "nothing listens at 127.0.0.1:1") {
		t.Errorf("error %v, want one about a refused connection", err)
	}
}
