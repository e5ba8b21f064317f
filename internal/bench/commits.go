package bench

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// Sizes of the commits of a check-in. The product's own commits change the same number of pages.
const (
	serverPages = 16  // number of 4 KiB pages that the check-in to a room with a gate changes in SQLite
	bridgeBytes = 700 // size of the record that the bridge stores for a new code
)

// commitBaseline measures the baseline of a check-in: a durable commit of the server and one of the bridge, and a round trip between them.
type commitBaseline struct {
	server *sql.DB
	bridge *bbolt.DB
	stream *echoStream
}

// newCommits creates the databases of the baseline in a directory, a SQLite file and a bbolt file, and opens its stream. After an error
// nothing stays open.
func newCommits(ctx context.Context, dir string) (_ *commitBaseline, err error) {
	c := &commitBaseline{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	c.server, err = sql.Open("sqlite3", "file:"+filepath.Join(dir, "floor.db")+"?_journal_mode=WAL&_synchronous=FULL&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	c.server.SetMaxOpenConns(1)
	if _, err := c.server.ExecContext(ctx, "CREATE TABLE pages (id INTEGER PRIMARY KEY, content BLOB)"); err != nil {
		return nil, err
	}
	for id := range serverPages {
		if _, err := c.server.ExecContext(ctx, "INSERT INTO pages VALUES (?, zeroblob(3900))", id); err != nil {
			return nil, err
		}
	}
	c.bridge, err = bbolt.Open(filepath.Join(dir, "floor.bbolt"), 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType, NoFreelistSync: true})
	if err != nil {
		return nil, err
	}
	c.stream, err = newEcho(ctx)
	return c, err
}

// baselineTimes are the times of one round in milliseconds: in total, and by step (server, stream, bridge).
type baselineTimes struct {
	all   []float64
	parts map[string][]float64
}

// measure does the work of the baseline as often as samples says, and returns the times.
func (c *commitBaseline) measure(ctx context.Context, samples int) (baselineTimes, error) {
	out := baselineTimes{parts: map[string][]float64{}}
	for range samples {
		all := 0.0
		for _, part := range []struct {
			name string
			do   func(context.Context) error
		}{{"server", c.commitServer}, {"stream", c.stream.roundTrip}, {"bridge", c.commitBridge}} {
			began := time.Now()
			if err := part.do(ctx); err != nil {
				return out, err
			}
			took := milliseconds(time.Since(began))
			out.parts[part.name] = append(out.parts[part.name], took)
			all += took
		}
		out.all = append(out.all, all)
	}
	return out, nil
}

// commitServer makes one durable commit in SQLite, with as many changed pages as a check-in.
func (c *commitBaseline) commitServer(ctx context.Context) error {
	tx, err := c.server.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE pages SET content = randomblob(3900)")
	return errors.Join(err, tx.Commit())
}

// commitBridge makes one durable commit in bbolt, as a bridge does for a new code.
func (c *commitBaseline) commitBridge(context.Context) error {
	content := make([]byte, bridgeBytes)
	_, _ = rand.Read(content)
	return c.bridge.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("slots"))
		if err != nil {
			return err
		}
		return b.Put([]byte("one"), content)
	})
}

// close closes what newCommits has opened, also after an error of newCommits.
func (c *commitBaseline) close() (err error) {
	if c.server != nil {
		err = c.server.Close()
	}
	if c.bridge != nil {
		err = errors.Join(err, c.bridge.Close())
	}
	if c.stream != nil {
		err = errors.Join(err, c.stream.close())
	}
	return err
}

// echoStream is a stream over mutual TLS on which the other side answers each message.
type echoStream struct {
	server *bareServer
	client *simBridge
	boot   string
}

// newEcho starts a bareServer, connects a simulated bridge to it, and returns the stream between them, which the caller closes.
func newEcho(ctx context.Context) (_ *echoStream, err error) {
	e := &echoStream{}
	if e.server, err = newBareServer(); err != nil {
		return nil, err
	}
	t, err := e.server.newTicket(0)
	if err == nil {
		e.boot = t.Boot
		e.client, err = connectBridge(ctx, t)
	}
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// roundTrip sends an unlock command over the stream and waits for the report.
func (e *echoStream) roundTrip(ctx context.Context) error { return e.server.sendUnlock(ctx, e.boot) }

// close closes what newEcho has opened, also after an error of newEcho.
func (e *echoStream) close() (err error) {
	if e.client != nil {
		err = e.client.close()
	}
	return errors.Join(err, e.server.Close())
}
