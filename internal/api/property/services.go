// Package property answers the calls of a property's staff and scripts: proto to domain and
// back. The tenant is the caller's property; no request names one.
package property

import (
	"context"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/staff/credential"
)

// Replan plans the access of the stays anew that a change touches, in the change's own
// transaction.
type Replan func(tx *db.Tx, propertyID string, t space.Touched) error

// Stays has the stays of a property follow what is changed.
type Stays struct {
	Replan Replan
	// CompleteDays has the stays that were given by days completed by the property's hours once
	// the transaction is stored.
	CompleteDays func(tx *db.Tx, propertyID string) error
}

// Deps are what the services work on. All but OpenWithin are needed.
type Deps struct {
	DB        *db.DB
	Memory    *idem.Memory
	Keys      *keyring.Ring
	Partners  *partner.Registry
	Mappings  space.Mappings
	Authority *lock.Authority
	Stays
	// ReadSpaces reads a partner's getSpaces once, now, and stores what it found. Its error
	// says why the reading failed.
	ReadSpaces func(ctx context.Context, propertyID, integrationID string) error
	// Act has an act carried out that is stored, and waits for what becomes of it, at most
	// until its deadline.
	Act func(ctx context.Context, order lock.Order) (lock.Outcome, error)
	// Unsent counts an act that is not stored because its bridge cannot be reached, which the error says.
	Unsent func(error)
	// OpenWithin is how long after a call a door may open; 0: lock.MaxDeadline.
	OpenWithin time.Duration
}

// Services implement the area, for gRPC and Connect alike.
type Services struct {
	Property    propertyv1.PropertyServiceServer
	Space       propertyv1.SpaceServiceServer
	Gate        propertyv1.GateServiceServer
	Integration propertyv1.IntegrationServiceServer
	APIKey      propertyv1.ApiKeyServiceServer
	Mapping     propertyv1.MappingServiceServer
	Bridge      propertyv1.BridgeServiceServer
	Lock        propertyv1.LockServiceServer
	Code        propertyv1.CodeServiceServer
	Notice      propertyv1.NoticeServiceServer
	Reservation propertyv1.ReservationServiceServer
}

// New makes the services of the area.
func New(d Deps) *Services {
	return &Services{
		Property:    &properties{Deps: d},
		Space:       &spaces{Deps: d},
		Gate:        &gates{Deps: d},
		Integration: &integrations{Deps: d},
		APIKey:      &apiKeys{Deps: d},
		Mapping:     &mappings{Deps: d},
		Bridge:      &bridges{Deps: d},
		Lock:        &locks{Deps: d},
		Code:        &codes{Deps: d},
		Notice:      &notices{Deps: d},
		Reservation: &reservations{Deps: d},
	}
}

// Renderers complete remembered answers, by full method name: see [idem.Memory].
func Renderers(d Deps) map[string]idem.Renderer {
	return map[string]idem.Renderer{
		propertyv1.LockService_UnlockLock_FullMethodName: (&locks{Deps: d}).renderAct,
		propertyv1.CodeService_RevealCode_FullMethodName: (&codes{Deps: d}).renderPIN,
	}
}

// tenant is the property of the calling member of staff.
func tenant(ctx context.Context) (string, error) {
	a, ok := actor.From(ctx)
	if !ok || a.Kind != actor.Staff || a.PropertyID == "" {
		return "", credential.Refused()
	}
	return a.PropertyID, nil
}

// change runs a mutation for the calling property in one transaction.
func change[R proto.Message](ctx context.Context, d Deps, f func(tx *db.Tx, propertyID string) (R, error)) (R, error) {
	propertyID, err := tenant(ctx)
	if err != nil {
		var none R
		return none, err
	}
	return idem.Write(ctx, d.Memory, func(tx *db.Tx) (R, error) { return f(tx, propertyID) })
}

func (d Deps) now(ctx context.Context) time.Time { return d.DB.View(ctx).Now() }

// defaultPage is how many entries a page has unless the caller says.
const defaultPage = 50

// mostPages bounds page numbers: beyond it no list of a property reaches.
const mostPages = 1_000_000

// page reads a page token, which is the page's number.
func page(size int32, token string) (space.Page, error) {
	p := space.Page{Limit: int(size)}
	if p.Limit == 0 {
		p.Limit = defaultPage
	}
	if token == "" {
		return p, nil
	}
	n, err := strconv.Atoi(token)
	if err != nil || n < 0 || n > mostPages {
		return p, badToken()
	}
	p.Number = n
	return p, nil
}

func badToken() error {
	return fault.Fields(fault.Field{Path: "pageToken", Reason: fault.BadFormat, Message: "must be the nextPageToken of the page before"})
}

// next is the token of the page after p, of a list with so many entries in all.
func next(p space.Page, total int) string {
	if (p.Number+1)*p.Limit >= total {
		return ""
	}
	return strconv.Itoa(p.Number + 1)
}

// Named refuses a name of blanks alone, under which nobody finds anything again.
func Named(field, name string) error {
	if strings.TrimSpace(name) == "" {
		return fault.Fields(fault.Field{Path: field, Reason: fault.Required, Message: "must not be blank"})
	}
	return nil
}

// NamedOrNot is [Named] where a name may be left out.
func NamedOrNot(field, name string) error {
	if name == "" {
		return nil
	}
	return Named(field, name)
}

// Under puts the wrong fields of an error under a field of the request: what the domain calls
// "name" was sent as "settings.name".
func Under(prefix string, err error) error {
	f, ok := fault.Of(err)
	if !ok || len(f.Fields) == 0 {
		return err
	}
	return fault.Fields(under(prefix, f.Fields)...)
}
