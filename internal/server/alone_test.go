package server_test

import (
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/server"
)

// A server that was killed left its bridges online in the database. The next one on SQLite knows better at once.
func TestBridgesOfAKilledServerAreNotOnline(t *testing.T) {
	c := settings(t, "")
	n := open(t, c, server.Options{})
	err := n.Database().Write(t.Context(), func(tx *db.Tx) error {
		return tx.Bridge.Create().SetID("brg_1").SetPropertyID("prp_1").SetName("cellar").SetEnrolledAt(tx.Now()).
			SetOnline(true).SetLastSeenAt(tx.Now()).SetEpoch(1).SetNode("nod_killed").Exec(tx.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	n = open(t, c, server.Options{})
	br, err := n.Database().Read().Bridge.Get(t.Context(), "brg_1")
	if err != nil || br.Online {
		t.Errorf("online in a server that has just started, %v", err)
	}
}
