package web_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey.dev/ent/locksample"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/browser"
)

// storeHistory gives a lock the history of a month: a battery that falls, a clock that drifts, and two times without a connection.
func (w *world) storeHistory(url, lock string) {
	w.t.Helper()
	d, err := db.Open(w.t.Context(), db.Config{URL: url})
	if err != nil {
		w.t.Fatal(err)
	}
	err = d.Write(w.t.Context(), func(tx *db.Tx) error {
		_, err := tx.LockSample.Delete().Where(locksample.LockID(lock)).Exec(tx.Context())
		add := func(kind string, daysAgo float64, value int64) {
			at := time.Now().Add(-time.Duration(daysAgo * 24 * float64(time.Hour)))
			err = errors.Join(err, tx.LockSample.Create().SetPropertyID(w.PropertyID).SetLockID(lock).SetKind(kind).SetValue(value).SetAt(at).Exec(tx.Context()))
		}
		for day := 40; day > 1; day-- {
			add("battery", float64(day), int64(30+day))
			if day%6 == 0 {
				add("clock", float64(day), int64(day%4)*5000-9000)
			}
		}
		for _, down := range []float64{21, 6} {
			add("link", down, 0)
			add("link", down-2.5, 1)
		}
		return err
	})
	if err := errors.Join(err, d.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// Staff see a lock's history with its gaps, its events and whose its codes are, and list the batteries to change, to print.
func TestLockHistory(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Desktop}, {size: browser.Narrow, scriptOff: true}, {size: browser.Tablet, dark: true}}, browser.Narrow, browser.Desktop) {
		t.Run(m.String(), func(t *testing.T) {
			url := "sqlite:" + filepath.Join(t.TempDir(), "server.db")
			w := &world{World: e2etest.Open(t, e2etest.Database(url), func(c *sandbox.Config) { c.Play = true }), t: t}
			locks := propertyv1.NewLockServiceClient(w.Public)
			listed, err := locks.ListLocks(w.Staff(t.Context()), &propertyv1.ListLocksRequest{})
			if err != nil {
				t.Fatal(err)
			}
			list := listed.GetData().GetList()
			w.storeHistory(url, list[0].GetId())
			p := browser.Open(t, m.options()...)
			w.signUp(p)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
			}
			p.Visit(w.Base + "/app/locks/" + list[0].GetId())
			p.Wait("svg.plot rect.gap")
			if m.language == "" {
				p.WaitText("Between 32 % and 90 %")
				p.WaitText("2 times not reached")
			}
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("lock-history")

			p.Visit(w.Base + "/app/locks/batteries")
			p.Wait(".empty")
			p.Axe()
			p.Screenshot("batteries-none")
			w.Site.SetBattery(list[1].GetAddress(), 8)
			w.Await("a low battery", func(ctx context.Context) (bool, error) {
				found, err := locks.GetLock(w.Staff(ctx), &propertyv1.GetLockRequest{Id: list[1].GetId()})
				return found.GetData().GetStatus().GetBatteryLow(), err
			})
			p.Visit(w.Base + "/app/locks/batteries")
			p.Wait("table")
			if text := p.Text(); !strings.Contains(text, list[1].GetDoorName()) {
				t.Errorf("the list lacks the lock with a low battery: %s", text)
			}
			p.Axe()
			p.KeyboardWalk()
			p.Fits()
			p.Screenshot("batteries")
		})
	}
}
