package checkin

import (
	"bytes"
	"context"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/test/logtest"
	"latchkey.dev/internal/test/pgtemp"
)

// sealedValues select the sealed values of a reservation.
var sealedValues = []string{
	"SELECT person FROM guests WHERE reservation_id = $1", "SELECT address FROM mails WHERE reservation_id = $1", "SELECT text FROM mails WHERE reservation_id = $1",
	"SELECT text FROM messages WHERE reservation_id = $1", "SELECT booker FROM reservations WHERE id = $1",
	"SELECT person FROM guest_profiles WHERE id IN (SELECT profile_id FROM stays WHERE reservation_id = $1)",
}

// A guest who did everything there is to do leaves nothing after an erasure: no value in the clear, in a log or a job, and no former
// ciphertext in a table, in the files of the database or in a backup made since. Only an inspection reads the official form. A late change by
// the PMS brings nothing back.
func TestNothingIsLeftAfterAnErasure(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		log := &logtest.Buffer{}
		w := &world{e2etest.Open(t, e2etest.Database(url), func(c *sandbox.Config) {
			c.Play, c.Options.SweepsEvery = true, 50*time.Millisecond
			c.Options.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		}), t}
		secrets, g := w.checkInWithCanaries()
		secrets["the message"] = "Nachrichtkanaria: where is the key?"
		_, err := guestv1.NewMessageServiceClient(w.Public).SendMessage(g.as, &guestv1.SendMessageRequest{Text: secrets["the message"]})
		w.must(err)
		w.copiesHold(g, secrets)
		former := w.sealed(url, g.stay)
		checkOut := map[string]any{"state": "processed", "booker": map[string]any{
			"firstName": secrets["the booker's first name"], "lastName": secrets["the booker's last name"], "email": bookerEmail,
		}}
		e2etest.PushReservation(t, w.World, "canary", checkOut)
		w.erase(g)
		e2etest.PushReservation(t, w.World, "canary", checkOut)
		w.onlyAnInspectionReads(g.stay, secrets["the answer lastName"])
		w.searchFor(url, log.String(), secrets, former)
	})
}

// copiesHold checks that the guest's copy of their data, and the copy that staff make for the guest, hold everything but secrets.
func (w *world) copiesHold(g *guest, secrets map[string]string) {
	w.t.Helper()
	own, err := guestv1.NewPrivacyServiceClient(w.Public).ExportData(g.as, &guestv1.ExportDataRequest{})
	w.must(err)
	byStaff, err := propertyv1.NewPrivacyServiceClient(w.Public).ExportGuestData(w.Staff(w.t.Context()), &propertyv1.ExportGuestDataRequest{ReservationId: g.stay})
	w.must(err)
	if own.GetData().GetProfile() == nil || len(own.GetData().GetDevices()) == 0 || len(own.GetData().GetDisclosures()) == 0 || len(own.GetData().GetMails()) == 0 {
		w.t.Errorf("the copy lacks a profile, devices, disclosures or mails: %v", own.GetData())
	}
	for who, data := range map[string]*guestv1.DataExport{"the guest": own.GetData(), "staff": byStaff.GetData()} {
		text, err := protojson.Marshal(data)
		w.must(err)
		for what, value := range secrets {
			isSecret := what == "the PIN" || what == "the link" || what == "the signature"           // as an image it is in the copy
			if strings.Contains(strings.ToLower(string(text)), strings.ToLower(value)) == isSecret { // a document's number is stored in capitals
				w.t.Errorf("the copy of %s holds %s: %v", who, what, !isSecret)
			}
		}
	}
}

// erase requests the erasure of a guest's data and waits until it is done.
func (w *world) erase(g *guest) {
	w.t.Helper()
	privacy := guestv1.NewPrivacyServiceClient(w.Public)
	asked, err := privacy.RequestErasure(g.as, &guestv1.RequestErasureRequest{})
	w.must(err)
	if e := asked.GetData(); e.GetLaw() != "HU" || e.GetKeptUntil() == "" || e.GetAfterStay() {
		w.t.Errorf("the request answers %v", e)
	}
	w.Await("the erasure", func(ctx context.Context) (bool, error) {
		r, err := privacy.GetErasureReceipt(ctx, &guestv1.GetErasureReceiptRequest{Receipt: asked.GetData().GetReceipt()})
		return r.GetData().GetState() == "done", err
	})
	if _, err := privacy.GetErasure(g.as, &guestv1.GetErasureRequest{}); err == nil {
		w.t.Error("the guest's session goes on")
	}
}

// onlyAnInspectionReads checks that staff find the official form in the register and nowhere else.
func (w *world) onlyAnInspectionReads(reservationID, lastName string) {
	w.t.Helper()
	staff := w.Staff(w.t.Context())
	read, err := propertyv1.NewCheckInServiceClient(w.Public).ListGuests(staff, &propertyv1.ListGuestsRequest{ReservationId: reservationID})
	w.must(err)
	if n := len(read.GetData().GetList()); n != 0 {
		w.t.Errorf("staff read %d guests", n)
	}
	register, err := propertyv1.NewGuestRegisterServiceClient(w.Public).InspectRegister(staff, &propertyv1.InspectRegisterRequest{
		FirstArrivalOn: "2000-01-01", LastArrivalOn: "2999-12-31", Reason: "a test",
	})
	w.must(err)
	if list := register.GetData().GetList(); len(list) != 1 || list[0].GetPerson().GetLastName() != lastName || list[0].GetPerson().GetOwn()["plate"] != "" {
		w.t.Errorf("the register has %v", list)
	}
}

// sealed returns the sealed values of a reservation.
func (w *world) sealed(url, reservationID string) (values [][]byte) {
	w.t.Helper()
	d := w.open(url)
	for _, query := range sealedValues {
		found, err := db.ReadList(d.View(w.t.Context()), func(b *[]byte) []any { return []any{b} }, query, reservationID)
		w.must(err)
		found = slices.DeleteFunc(found, func(b []byte) bool { return len(b) < 32 })
		if len(found) == 0 {
			w.t.Errorf("%s: no sealed value", query)
		}
		values = append(values, found...)
	}
	w.must(d.Close())
	return values
}

func (w *world) open(url string) *db.DB {
	w.t.Helper()
	d, err := db.Open(w.t.Context(), db.Config{URL: url})
	w.must(err)
	return d
}

// dumpedBytes finds the binary values in a dump of PostgreSQL.
var dumpedBytes = regexp.MustCompile(`\\\\x([0-9a-f]+)`)

// dump returns a backup of a PostgreSQL database. Its binary values are decoded.
func (w *world) dump(url string) string {
	w.t.Helper()
	b, err := pgtemp.Dump(w.t.Context(), url)
	w.must(err)
	text := dumpedBytes.ReplaceAllStringFunc(string(b), func(digits string) string {
		value, err := hex.DecodeString(dumpedBytes.FindStringSubmatch(digits)[1])
		w.must(err)
		return string(value)
	})
	if !strings.Contains(text, "N-CANARY") || len(text) == len(b) {
		w.t.Fatalf("a dump of %d bytes holds no reservation or no binary value", len(b))
	}
	return text
}

// searchFor searches the log, all tables, and a backup, and on SQLite the files.
func (w *world) searchFor(url, log string, secrets map[string]string, former [][]byte) {
	w.t.Helper()
	d := w.open(url)
	defer func() { w.must(d.Close()) }()
	found, _ := dbtest.Text(w.t, d)
	found["the log"] = log
	if path, embedded := strings.CutPrefix(url, "sqlite:"); embedded {
		backup := filepath.Join(w.t.TempDir(), "backup")
		w.must(d.Backup(w.t.Context(), backup))
		for _, file := range []string{path, path + "-wal", backup} {
			b, err := os.ReadFile(file)
			w.must(err)
			found[file] = string(b)
		}
	} else {
		found["the dump"] = w.dump(url)
	}
	if !strings.Contains(found["reservations"], "N-CANARY") {
		w.t.Fatal("the search does not find what is there")
	}
	for where, text := range found {
		for what, value := range secrets {
			if strings.Contains(strings.ToLower(text), strings.ToLower(value)) {
				w.t.Errorf("%s holds %s", where, what)
			}
		}
		for _, value := range former {
			if piece := pieceIn(text, value); piece >= 0 {
				w.t.Errorf("%s holds bytes %d to %d of a sealed value from before the erasure", where, piece, piece+32)
			}
		}
	}
}

// pieceIn returns where a piece of a value begins that a text holds, or -1. The pages of a file split a long value.
func pieceIn(text string, value []byte) int {
	for at := 0; at+32 <= len(value); at += 32 {
		if bytes.Contains([]byte(text), value[at:at+32]) {
			return at
		}
	}
	return -1
}
