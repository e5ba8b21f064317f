package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/sandbox"
)

// The hotel of the benchmark of the dashboard.
const (
	staffNights        = 3 // nights of each stay
	staffConversations = 100
	staffCodes         = 60
)

// staffWorld is a large hotel with an owner who is signed in to the dashboard.
type staffWorld struct {
	*sandbox.World
	owner *sandbox.StaffVisitor
	conn  *grpc.ClientConn
	fleet *simFleet
	done  func() error
}

// newStaffWorld builds the hotel in dir through the public interfaces, with the numbers of rooms, bridges and reservations in b. It waits
// until the server has nothing left to do, which takes minutes. The caller closes the world.
func newStaffWorld(ctx context.Context, dir string, b StaffPages) (_ *staffWorld, err error) {
	o, log, err := serverOptions(dir)
	if err != nil {
		return nil, err
	}
	o.SweepsEvery = time.Minute // with the play page, the sandbox would otherwise sweep each second
	w := &staffWorld{fleet: newSimFleet(), done: log.Close}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.World, err = sandbox.Build(ctx, sandbox.Config{Server: serverConfig(dir), Options: o, Dir: dir, WithoutStorage: true, Play: true, Rooms: b.Rooms}); err != nil {
		return nil, err
	}
	if w.conn, err = dial(w.Server.GRPCAddr()); err != nil {
		return nil, err
	}
	if err := w.connectBridges(ctx, b.Bridges, b.Rooms); err != nil {
		return nil, err
	}
	if err := w.fill(ctx, b); err != nil {
		return nil, err
	}
	if err := w.awaitBackgroundWork(ctx); err != nil {
		return nil, err
	}
	w.owner, err = w.JoinAsOwner(ctx, "ada@example.com")
	return w, err
}

// connectBridges enrols and connects simulated bridges, which together have at least as many locks as there are rooms. It assigns a lock to
// each room that sandbox.Config.Rooms adds.
func (w *staffWorld) connectBridges(ctx context.Context, bridges, rooms int) error {
	o := &owner{token: w.StaffToken}
	if err := o.enrolBridges(ctx, w.conn, bridges); err != nil {
		return err
	}
	for i := range o.tickets {
		o.tickets[i].Address, o.tickets[i].Locks = w.Server.BridgeAddr(), (rooms+bridges-1)/bridges
	}
	if err := w.fleet.connectAll(ctx, o.tickets); err != nil {
		return err
	}
	locks := propertyv1.NewLockServiceClient(w.conn)
	room := 0
	for token := ""; ; {
		l, err := locks.ListLocks(w.Staff(ctx), &propertyv1.ListLocksRequest{PageSize: 200, PageToken: token})
		if err != nil {
			return fmt.Errorf("list the locks: %w", err)
		}
		for _, lock := range l.GetData().GetList() {
			if lock.GetDoorId() != "" || room == rooms {
				continue
			}
			door := w.Spaces[sandbox.FurtherRoomName(room)]
			if _, err := locks.AssignLock(w.Staff(ctx), &propertyv1.AssignLockRequest{Id: lock.GetId(), DoorId: &door}); err != nil {
				return fmt.Errorf("assign a lock: %w", err)
			}
			room++
		}
		if token = l.GetData().GetNextPageToken(); token == "" {
			return nil
		}
	}
}

// stayFields returns the fields of reservation number, from 0 on. Stays follow one another in each room, and a third of the rooms has
// arrivals today.
func stayFields(number, rooms int) map[string]any {
	room, turn := number%rooms, number/rooms
	first := time.Now().AddDate(0, 0, turn*staffNights-room%staffNights)
	state := "confirmed"
	if turn == 0 && room%staffNights > 0 {
		state = "started"
	}
	return map[string]any{
		"pmsMeta":   map[string]any{"id": stayID(number), "updatedAt": time.Now().UTC().Format(time.RFC3339Nano)},
		"pmsNumber": fmt.Sprintf("S%d", number), "state": state, "roomId": sandbox.FurtherRoom(room), "adultCount": 1,
		"booker":   map[string]any{"firstName": "Grace", "lastName": fmt.Sprintf("Hopper %d", number), "email": fmt.Sprintf("grace.%d@example.com", number)},
		"fromDate": first.Format(time.DateOnly), "toDate": first.AddDate(0, 0, staffNights).Format(time.DateOnly),
	}
}

// stayID returns the PMS's id of a reservation.
func stayID(number int) string { return fmt.Sprintf("stay-%d", number) }

// push sends a reservation to the service as the PMS, and returns the service's id. It does not store it in the sandbox's PMS, which would
// be slow.
func (w *staffWorld) push(ctx context.Context, fields map[string]any) (id string, err error) {
	a, err := w.PMS.Do(ctx, http.MethodPatch, "/v1/reservations", fields)
	if err != nil {
		return "", err
	}
	if a.Status != http.StatusOK {
		return "", fmt.Errorf("a change was answered %d: %v", a.Status, a.Body["error"])
	}
	id, _ = a.Data()["id"].(string)
	return id, nil
}

// fill stores reservations, messages, codes and forms of guests.
func (w *staffWorld) fill(ctx context.Context, b StaffPages) error {
	if err := w.fillRegister(ctx, b.Rooms); err != nil {
		return err
	}
	ids := make([]string, b.Reservations)
	err := inParallel(ctx, b.Reservations, func(ctx context.Context, n int) (err error) {
		ids[n], err = w.push(ctx, stayFields(n, b.Rooms))
		return err
	})
	if err != nil {
		return err
	}
	messages, codes := propertyv1.NewMessageServiceClient(w.conn), propertyv1.NewCodeServiceClient(w.conn)
	for n := range min(staffConversations, b.Reservations) {
		if _, err := messages.SendMessage(w.Staff(ctx), &propertyv1.SendMessageRequest{GuestId: ids[n], Text: "Your room is ready."}); err != nil {
			return fmt.Errorf("send a message: %w", err)
		}
	}
	for n := range min(staffCodes, b.Rooms) {
		r := &propertyv1.CreateCodeRequest{Kind: "staff", Holder: fmt.Sprintf("Cleaner %d", n), DoorIds: []string{w.Spaces[sandbox.FurtherRoomName(n)]}}
		if _, err := codes.CreateCode(w.Staff(ctx), r); err != nil {
			return fmt.Errorf("create a code: %w", err)
		}
	}
	return nil
}

// behind matches the metrics that are at least 1 while the server is behind with its background work.
var behind = regexp.MustCompile(`(?m)^latchkey_installation_(?:events_waiting|jobs_late_seconds|mails_waiting) [^0]`)

// backgroundWorkTimeout limits the wait in awaitBackgroundWork. It is longer than a mail waits for a code that no lock confirms.
const backgroundWorkTimeout = 5 * time.Minute

// awaitBackgroundWork waits until the server has done what follows from filling the hotel, such as the mails to the hundreds of guests who
// check in at once: in a hotel they arrive one by one. It fails after backgroundWorkTimeout.
func (w *staffWorld) awaitBackgroundWork(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, backgroundWorkTimeout, errors.New("the server has events, jobs or mails that wait"))
	defer cancel()
	for {
		metrics, err := w.metrics(ctx)
		if err != nil {
			return fmt.Errorf("read the metrics: %w", cmp.Or(context.Cause(ctx), err))
		}
		if bytes.Contains(metrics, []byte("\nlatchkey_installation_mails_waiting ")) && !behind.Match(metrics) {
			return nil
		}
		clock.Sleep(ctx, time.Second)
	}
}

// metrics returns the server's metrics in the text format of Prometheus. It does not check the HTTP status.
func (w *staffWorld) metrics(ctx context.Context) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.Server.OpsAddr()+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// close disconnects the bridges and stops the sandbox, also after an error of newStaffWorld.
func (w *staffWorld) close() (err error) {
	_ = w.fleet.close() // broken streams change no result of pages
	if w.conn != nil {
		err = w.conn.Close()
	}
	if w.World != nil {
		err = errors.Join(err, w.World.Close())
	}
	return errors.Join(err, w.done())
}
