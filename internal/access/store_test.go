package access

import (
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestStatementsFitTheSchema(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if err := d.Write(t.Context(), func(tx *db.Tx) error {
			s, err := tx.SQL().PrepareContext(t.Context(), installedLocksQuery)
			if err != nil {
				return err
			}
			return s.Close()
		}); err != nil {
			t.Error(err)
		}
	})
}
