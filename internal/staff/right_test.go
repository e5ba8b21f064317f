package staff

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/fault"
)

// table says which roles have each right. It is written by hand, so that a slip in Allows is seen.
var table = map[Right][]Role{
	Self:              {Owner, Manager, FrontDesk, Housekeeping},
	ReadProperty:      {Owner, Manager, FrontDesk, Housekeeping},
	ReadLocks:         {Owner, Manager, FrontDesk, Housekeeping},
	ReadReservations:  {Owner, Manager, FrontDesk},
	ReadAccess:        {Owner, Manager, FrontDesk},
	ReadGuests:        {Owner, Manager, FrontDesk},
	ReadNotices:       {Owner, Manager, FrontDesk},
	ReadAudit:         {Owner, Manager},
	InspectRegister:   {Owner, Manager},
	EraseGuests:       {Owner, Manager},
	ManageNotices:     {Owner, Manager, FrontDesk},
	ManageCheckIns:    {Owner, Manager, FrontDesk},
	WriteMessages:     {Owner, Manager, FrontDesk},
	ManageAccess:      {Owner, Manager, FrontDesk},
	RevealPINs:        {Owner, Manager, FrontDesk},
	OpenDoors:         {Owner, Manager, FrontDesk},
	ManageLocks:       {Owner, Manager},
	ManageSpaces:      {Owner, Manager},
	ManageBridges:     {Owner, Manager},
	ManageSettings:    {Owner, Manager},
	ManagePeople:      {Owner, Manager},
	ManageCredentials: {Owner},
}

func TestAllows(t *testing.T) {
	for _, right := range Rights {
		if _, ok := table[right]; !ok {
			t.Errorf("%s is not in the table", right)
		}
		for _, role := range append(slices.Clone(Roles), "", "operator", "Owner") {
			if got, want := Allows(role, right), slices.Contains(table[right], role); got != want {
				t.Errorf("%s, %s: %v, want %v", role, right, got, want)
			}
		}
	}
	for _, role := range Roles {
		if Allows(role, "") || Allows(role, "openSafe") {
			t.Errorf("%s has an unknown right", role)
		}
	}
	if len(table) != len(Rights) {
		t.Errorf("%d rights in the table, want %d", len(table), len(Rights))
	}
}

func TestMayManage(t *testing.T) {
	managed := map[Role][]Role{Owner: Roles, Manager: {FrontDesk, Housekeeping}}
	for _, role := range Roles {
		for _, other := range append(slices.Clone(Roles), "viewer") {
			if got, want := MayManage(role, other), slices.Contains(managed[role], other); got != want {
				t.Errorf("%s manages %s: %v, want %v", role, other, got, want)
			}
		}
	}
}

func TestStepUp(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, c := range []struct {
		name     string
		signedIn time.Time
		factor   actor.SecondFactor
		want     fault.Reason // empty: allowed
	}{
		{name: "just signed in, no second factor", signedIn: now},
		{name: "signed in almost 15 minutes ago, no second factor", signedIn: ago(15*time.Minute - 1)},
		{name: "signed in 15 minutes ago, no second factor", signedIn: ago(15 * time.Minute), want: fault.SignInAgain},
		{name: "sign-in unknown, no second factor", want: fault.SignInAgain},
		{name: "confirmed just now", signedIn: ago(time.Hour), factor: actor.SecondFactor{Enrolled: true, ConfirmedAt: now}},
		{
			name: "confirmed 15 minutes ago", signedIn: now, factor: actor.SecondFactor{Enrolled: true, ConfirmedAt: ago(15 * time.Minute)},
			want: fault.SecondFactorRequired,
		},
		{
			name: "never confirmed", signedIn: now, factor: actor.SecondFactor{Enrolled: true},
			want: fault.SecondFactorRequired,
		},
	} {
		for _, right := range Rights {
			for _, setting := range []bool{true, false} {
				want := c.want
				if !setting && (right == OpenDoors || right == RevealPINs || right == ManageAccess) {
					want = ""
				}
				a := actor.Actor{PersonID: "per_1", ProvedAt: c.signedIn, SecondFactor: c.factor, NoAccessProof: !setting}
				if err := StepUp(a, right, now); (err != nil) != (want != "") || want != "" && !fault.Has(err, want) {
					t.Errorf("%s, %s, accessStepUp %v: %v, want %q", c.name, right, setting, err, want)
				}
			}
		}
	}
}
