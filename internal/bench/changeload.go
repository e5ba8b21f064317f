package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
)

// changeLoad sends reservation changes to a server from many clients. Each client waits for an answer before it sends the next change.
type changeLoad struct {
	clients int
	stored  int // number of stored reservations (old-1, old-2, …), which half of the calls change; 0: these calls change what their client created
	send    func(ctx context.Context, client int, c change) error
	close   func() error

	last atomic.Int64 // counter from which new reservations get their number
}

// change is a new reservation, or a change of an existing one. Its room and arrival follow from number. nights is the length of the stay.
type change struct {
	id     string
	number int64
	nights int
}

// loadResult is the throughput and the call durations of one round.
type loadResult struct {
	perSecond float64
	took      []float64 // duration of each call in milliseconds
}

// run sends changes from all clients for the duration span, and returns what it measured. If a call fails or ctx ends, it ends early and
// returns the error. It also fails if no call was made within span.
func (d *changeLoad) run(ctx context.Context, span time.Duration) (loadResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	took := make([][]float64, d.clients)
	began := time.Now()
	var all sync.WaitGroup
	for i := range d.clients {
		all.Go(func() {
			var own []int64
			for time.Since(began) < span && ctx.Err() == nil {
				c := d.nextChange(&own)
				sent := time.Now()
				if err := d.send(ctx, i, c); err != nil {
					cancel(err)
					return
				}
				took[i] = append(took[i], milliseconds(time.Since(sent)))
			}
		})
	}
	all.Wait()
	span = time.Since(began)
	if err := context.Cause(ctx); err != nil {
		return loadResult{}, err
	}
	b := loadResult{}
	for _, t := range took {
		b.took = append(b.took, t...)
	}
	if len(b.took) == 0 {
		return b, fmt.Errorf("no call was made within %v: measure for longer", span)
	}
	b.perSecond = float64(len(b.took)) / span.Seconds()
	return b, nil
}

// nextChange returns a random change. About half of the changes are of an existing reservation: a stored one or, if stored is 0, one that
// this client has made. own has the numbers of the client's new reservations; nextChange adds to it.
func (d *changeLoad) nextChange(own *[]int64) change {
	c := change{nights: 1 + rand.IntN(20)}
	if rand.IntN(2) == 0 {
		switch {
		case d.stored > 0:
			c.number = int64(1 + rand.IntN(d.stored))
			c.id = fmt.Sprintf("old-%d", c.number)
			return c
		case len(*own) > 0:
			c.number = (*own)[rand.IntN(len(*own))]
			c.id = fmt.Sprintf("new-%d", c.number)
			return c
		}
	}
	c.number = d.last.Add(1)
	*own = append(*own, c.number)
	c.id = fmt.Sprintf("new-%d", c.number)
	return c
}

// spacesOfPMS are the PMS's ids of the sandbox's spaces: the id of a room, or of a bed and its room.
var spacesOfPMS = [][2]string{{"R101"}, {"R102"}, {"R103"}, {"D4-A", "D4"}, {"D4-B", "D4"}, {"D4-C", "D4"}, {"D4-D", "D4"}}

const (
	templatePrefix = "template-" // id prefix of the reservations that Fill copies
	// templateCount is the number of template reservations. Spaces and first days repeat after so many reservations.
	templateCount = 420
)

// space returns the PMS's id of the reservation's room or bed, and for a bed the id of its room.
func (c change) space() (spaceID, parentID string) {
	p := spacesOfPMS[c.number%int64(len(spacesOfPMS))]
	return p[0], p[1]
}

// firstDay returns the arrival date, today or later. One stay in sixty begins today.
func (c change) firstDay() time.Time { return time.Now().AddDate(0, 0, int(c.number%60)) }

// lastDay returns the departure date: nights after firstDay.
func (c change) lastDay() time.Time { return c.firstDay().AddDate(0, 0, c.nights) }

// restBody returns the change as the body of a REST call.
func (c change) restBody() []byte {
	spaceID, parentID := c.space()
	if parentID != "" {
		parentID = `,"parentSpaceId":"` + parentID + `"`
	}
	return fmt.Appendf(make([]byte, 0, 512),
		`{"pmsMeta":{"id":"%s","groupId":"G-%d","spaceId":"%s"%s,"updatedAt":"%s"},"pmsNumber":"N-%d","booker":{"firstName":"Ada","lastName":"Lovelace","email":"ada.%d@example.com","mobile":"+351900000000"},"state":"confirmed","fromDate":"%s","toDate":"%s","adultCount":2,"childCount":0,"price":420.5,"owing":%d,"owingCurrency":"EUR","sourceName":"Booking.com","channelManager":"SiteMinder"}`,
		c.id, c.number, spaceID, parentID, time.Now().UTC().Format(time.RFC3339Nano), c.number, c.number,
		c.firstDay().Format(time.DateOnly), c.lastDay().Format(time.DateOnly), c.nights)
}

// grpcRequest returns the change as a gRPC request.
func (c change) grpcRequest() *partnerv1.UpsertReservationRequest {
	spaceID, parentID := c.space()
	text := func(s string) *string { return &s }
	count := func(n int32) *int32 { return &n }
	price, owing := 420.5, float64(c.nights)
	r := &partnerv1.Reservation{
		PmsMeta:   &partnerv1.PmsMeta{Id: c.id, GroupId: text(fmt.Sprintf("G-%d", c.number)), SpaceId: &spaceID, UpdatedAt: timestamppb.Now()},
		PmsNumber: fmt.Sprintf("N-%d", c.number),
		Booker:    &partnerv1.Booker{FirstName: text("Ada"), LastName: "Lovelace", Email: text(fmt.Sprintf("ada.%d@example.com", c.number)), Mobile: text("+351900000000")},
		State:     "confirmed", FromDate: text(c.firstDay().Format(time.DateOnly)), ToDate: text(c.lastDay().Format(time.DateOnly)),
		AdultCount: count(2), ChildCount: count(0), Price: &price, Owing: &owing, OwingCurrency: text("EUR"),
		SourceName: text("Booking.com"), ChannelManager: text("SiteMinder"),
	}
	if parentID != "" {
		r.PmsMeta.ParentSpaceId = &parentID
	}
	return &partnerv1.UpsertReservationRequest{Reservation: r}
}

// newRESTLoad returns a load that sends changes over REST, with one connection per client. A call fails after 30 seconds.
func newRESTLoad(w World, clients int) *changeLoad {
	transport := &http.Transport{MaxIdleConns: clients, MaxIdleConnsPerHost: clients, DisableCompression: true}
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	d := &changeLoad{clients: clients, close: func() error { transport.CloseIdleConnections(); return nil }}
	d.send = func(ctx context.Context, _ int, c change) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPatch, w.HTTP+"/v1/reservations", bytes.NewReader(c.restBody()))
		if err != nil {
			return err
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Client-Token": {w.ClientToken}, "Access-Token": {w.AccessToken}}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
			return fmt.Errorf("a change was answered %d: %s", res.StatusCode, text)
		}
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}
	return d
}

// clientsPerConnection is how many clients share one gRPC connection.
const clientsPerConnection = 16

// newGRPCLoad returns a load that sends changes over gRPC. clientsPerConnection clients share a connection. A call fails after 30 seconds.
func newGRPCLoad(w World, clients int) (*changeLoad, error) {
	var conns []*grpc.ClientConn
	d := &changeLoad{clients: clients, close: func() error {
		for _, c := range conns {
			_ = c.Close()
		}
		return nil
	}}
	for range (clients + clientsPerConnection - 1) / clientsPerConnection {
		c, err := dial(w.GRPC)
		if err != nil {
			return nil, err
		}
		conns = append(conns, c)
	}
	d.send = func(ctx context.Context, client int, c change) error {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		ctx = metadata.AppendToOutgoingContext(ctx, "client-token", w.ClientToken, "access-token", w.AccessToken)
		_, err := partnerv1.NewReservationServiceClient(conns[client/clientsPerConnection]).UpsertReservation(ctx, c.grpcRequest())
		return err
	}
	return d, nil
}
