package space_test

import (
	"fmt"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/test/dbtest"
)

func TestDue(t *testing.T) {
	each(t, func(h house) {
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		interval := 15 * time.Minute
		for _, name := range []string{"fresh", "old", "off", "silent"} {
			dbtest.Insert(t, h.d, "apps", dbtest.Values{"id": "app_" + name})
		}
		h.write(func(tx *db.Tx) error {
			for name, age := range map[string]time.Duration{"fresh": 13 * time.Minute, "old": 17 * time.Minute, "off": time.Hour, "silent": time.Hour} {
				id := "int_" + name
				c := tx.Integration.Create().SetID(id).SetPropertyID(prp).SetAppID("app_" + name).SetName(name).SetScopes([]string{}).SetSpacesTriedAt(now.Add(-age))
				if name == "off" {
					c.SetDisabledAt(now)
				}
				if err := c.Exec(tx.Context()); err != nil {
					return err
				}
			}
			for i, id := range []string{itg, "int_fresh", "int_old", "int_off"} {
				for _, action := range []string{"getSpaces", "checkIn"} {
					err := tx.Endpoint.Create().SetID(fmt.Sprint(id, action)).SetPropertyID(prp).SetIntegrationID(id).SetAction(action).
						SetURL(fmt.Sprint("https://pms.example/", i)).SetMethod("GET").SetSealedToken([]byte{}).SetTokenPlace("query").Exec(tx.Context())
					if err != nil {
						return err
					}
				}
			}
			// An endpoint of another action alone is nothing to read.
			return tx.Endpoint.Create().SetID("end_silent").SetPropertyID(prp).SetIntegrationID("int_silent").SetAction("checkIn").
				SetURL("https://pms.example/").SetMethod("POST").SetSealedToken([]byte{}).SetTokenPlace("query").Exec(tx.Context())
		})
		due, err := space.Due(h.d.View(h.ctx()), now, interval)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "due", []space.Source{{PropertyID: prp, IntegrationID: itg}, {PropertyID: prp, IntegrationID: "int_old"}}, due)

		spread := 0
		for m := range 5 {
			due, err := space.Due(h.d.View(h.ctx()), now.Add(time.Duration(m)*time.Minute), interval)
			if err != nil {
				t.Fatal(err)
			}
			spread = max(spread, len(due))
		}
		if spread != 3 {
			t.Errorf("%d due four minutes later, want 3", spread)
		}
	})
}
