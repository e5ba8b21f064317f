package mail_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/test/dbtest"
)

// wrongFields returns the paths of the settings that a refusal names.
func wrongFields(err error) []string {
	paths := []string{}
	if refused := new(fault.Fault); errors.As(err, &refused) {
		for _, f := range refused.Fields {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// A stored password is never sent to another server than the server for which it was entered.
func TestPasswordStaysWithItsServer(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.InsertOnce(t, d, "properties", dbtest.Values{"id": "prp_one"})
		keys := dbtest.Keys(t, d, "prp_one")
		change := func(c mail.SettingsChange) (row *mail.SettingsRow, err error) {
			err = d.Write(t.Context(), func(tx *db.Tx) error { row, err = c.Change(tx, keys, "prp_one", nil); return err })
			return row, err
		}
		if _, err := change(mail.SettingsChange{Host: new("smtp.example.com"), User: new("desk"), Password: new("secret"), FromAddress: new("desk@example.com")}); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]mail.SettingsChange{
			"host": {Host: new("smtp.evil.example")}, "port": {Port: new(25)}, "security": {Security: new(mail.TLS)}, "user": {User: new("eve")},
		} {
			if _, err := change(c); !cmp.Equal(wrongFields(err), []string{"password"}) {
				t.Errorf("another %s: %v", name, err)
			}
			c.Password = new("secret")
			if _, err := change(c); err != nil {
				t.Errorf("another %s with the password: %v", name, err)
			}
		}
		if row, err := change(mail.SettingsChange{FromName: new("Desk"), Host: new("SMTP.evil.example")}); err != nil || len(row.Password) == 0 {
			t.Errorf("another name of the sender: %v", err)
		}
		if row, err := change(mail.SettingsChange{Host: new("")}); err != nil || len(row.Password) > 0 {
			t.Errorf("without a server the password is kept: %v", err)
		}
	})
}

// Mail servers in a private network, and mails without encryption, need the operator's flag.
func TestPrivateMailServers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.InsertOnce(t, d, "properties", dbtest.Values{"id": "prp_one"})
		keys := dbtest.Keys(t, d, "prp_one")
		for _, c := range []struct {
			host, security string
			listed         bool
			wrong          []string
		}{
			{"smtp.example.com", mail.StartTLS, false, []string{}},
			{"smtp.example.com", mail.NoTLS, false, []string{"security"}},
			{"smtp.example.com", mail.NoTLS, true, []string{"security"}},
			{"localhost", mail.StartTLS, false, []string{"host"}},
			{"127.0.0.1", mail.NoTLS, false, []string{"host", "security"}},
			{"127.0.0.1", mail.NoTLS, true, []string{}},
			{"10.0.0.7", mail.TLS, false, []string{"host"}},
			{"169.254.169.254", mail.TLS, false, []string{"host"}},
			{"192.168.1.4", mail.TLS, true, []string{}},
			{"192.168.1.4", mail.NoTLS, true, []string{"security"}},
		} {
			err := d.Write(t.Context(), func(tx *db.Tx) error {
				_, err := mail.SettingsChange{Host: &c.host, Security: &c.security, FromAddress: new("desk@example.com")}.Change(tx, keys, "prp_one", func(string, int) bool { return c.listed })
				return err
			})
			if diff := cmp.Diff(c.wrong, wrongFields(err)); diff != "" {
				t.Errorf("%s with security %s, listed %v: %v%s", c.host, c.security, c.listed, err, diff)
			}
		}
	})
}
