package staff

import (
	"slices"
	"testing"
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
			if got, want := mayManage(role, other), slices.Contains(managed[role], other); got != want {
				t.Errorf("%s manages %s: %v, want %v", role, other, got, want)
			}
		}
	}
}
