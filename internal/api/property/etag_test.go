package property

import (
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
)

// A change of a room or a gate with the etag of an older version changes nothing and says what changed.
func TestEtagsOfRoomsAndGates(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		room := must(a.Space.GetSpace(a.ctx, &propertyv1.GetSpaceRequest{Id: a.room("101")}))(a.T).GetData()
		rename := func(name, etag string) error {
			_, err := a.Space.UpdateSpace(a.ctx, &propertyv1.UpdateSpaceRequest{Id: room.GetId(), Name: &name, Etag: etag})
			return err
		}
		gate := must(a.Gate.CreateGate(a.ctx, &propertyv1.CreateGateRequest{Name: "Gate"}))(a.T).GetData()
		open := func(etag string, rooms ...string) error {
			_, err := a.Gate.UpdateGate(a.ctx, &propertyv1.UpdateGateRequest{Id: gate.GetId(), Spaces: &propertyv1.SpaceIds{Ids: rooms}, Etag: etag})
			return err
		}
		for name, c := range map[string]struct {
			etag    string
			change  func(etag string) error
			changed string
		}{
			"room": {room.GetEtag(), func(etag string) error { return rename("102", etag) }, "name"},
			"gate": {gate.GetEtag(), func(etag string) error { return open(etag, room.GetId()) }, "spaceIds"},
		} {
			if err := c.change(c.etag); err != nil || c.etag == "" {
				a.Errorf("%s: the present etag %q: %v", name, c.etag, err)
			}
			if err := c.change(c.etag); !fault.Has(err, fault.Outdated) || !strings.Contains(err.Error(), c.changed) {
				a.Errorf("%s: the former etag: %v", name, err)
			}
			if err := c.change("x"); !fault.Has(err, fault.Outdated) {
				a.Errorf("%s: no etag: %v", name, err)
			}
			if err := c.change(""); err != nil {
				a.Errorf("%s: without an etag: %v", name, err)
			}
		}
	})
}
