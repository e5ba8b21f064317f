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
