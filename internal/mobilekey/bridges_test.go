package mobilekey_test

import (
	"slices"
	"strings"
	"testing"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mobilekey"
)

// Only a bridge that verifies SmartKeys and holds an older key set or status list is behind.
func TestBridgesThatHoldOlderKeysAreFound(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		issuer, err := d.db.View(t.Context()).Issuer.Get(t.Context(), propertyID)
		d.must(err)
		ids := map[string]string{}
		d.change(func(tx *db.Tx) error {
			for name, held := range map[string]bridge.InstalledKeys{
				"current": {Version: issuer.KeySetVersion, List: issuer.ListNumber}, "older set": {Version: issuer.KeySetVersion - 1, List: issuer.ListNumber},
				"older list": {Version: issuer.KeySetVersion, List: issuer.ListNumber - 1}, "no SmartKeys": {Version: bridge.NoSmartKeys},
			} {
				br, err := tx.Bridge.Create().SetID("brg_" + strings.ReplaceAll(name, " ", "_")).SetPropertyID(propertyID).SetName(name).SetCreatedAt(tx.Now()).
					SetKeySetVersion(held.Version).SetKeyListNumber(held.List).Save(tx.Context())
				if err != nil {
					return err
				}
				ids[name] = br.ID
			}
			return nil
		})
		all := []string{ids["current"], ids["older set"], ids["older list"], ids["no SmartKeys"]}
		behind, err := mobilekey.BehindBridges(d.db.View(t.Context()), all)
		d.must(err)
		slices.Sort(behind)
		want := []string{ids["older set"], ids["older list"]}
		slices.Sort(want)
		if !slices.Equal(behind, want) {
			t.Errorf("behind: %v, want %v", behind, want)
		}
	})
}
