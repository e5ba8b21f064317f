// Package property serves the API for a property's staff and scripts. It converts between protobuf and domain types. Requests do not name
// the property, because the caller's credential does.
package property

import (
	"context"
	"strconv"
	"strings"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/space"
)

// Replan recomputes the access of the reservations that a change of spaces or doors affects, in the transaction of the change.
type Replan func(tx *db.Tx, propertyID string, t space.AffectedStays) error

// Stays has the functions that update a property's reservations after a change of its settings, spaces or doors.
type Stays struct {
	Replan Replan
	// CompleteDays enqueues a job that recomputes the times of reservations with dates only, from the property's check-in and check-out
	// times.
	CompleteDays func(tx *db.Tx, propertyID string) error
}

// Deps are the dependencies of the services. All but OpenWithin are required.
type Deps struct {
	DB        *db.DB
	Answers   *idem.Answers
	Keys      *keyring.Ring
	Validator protovalidate.Validator
	Partners  *partner.Registry
	Mappings  space.Mappings
	CA        *bridge.CA
	Stays
	// ReadSpaces calls a partner's getSpaces endpoint and stores the result. The error says why the call failed. The message gives the same
	// reason to staff and can be rendered in any language.
	ReadSpaces func(ctx context.Context, propertyID, integrationID string) (message.Message, error)
	// TestEndpoint calls an endpoint of a partner once and stores the result in its health.
	TestEndpoint func(ctx context.Context, propertyID, integrationID, action string) (partner.Probed, error)
	// KeepStays is how long the installation keeps reservations after their end. A property can set a shorter period.
	KeepStays time.Duration
	// KeepEvents is how long, at least 30 days, the installation keeps events, notices and similar records. KeepAudit, at least 365 days,
	// is the same for the audit log.
	KeepEvents, KeepAudit time.Duration
	// Here is the server node that runs this service.
	Here lock.Node
	// SendCommand sends a stored unlock command to the bridge and waits for the outcome until shortly after the command's deadline. A fault as
	// error means that the command was not sent and never will be. After another error, that is not known.
	SendCommand func(ctx context.Context, order lock.UnlockCommand) (lock.Outcome, error)
	// Unsent gets the error with which an unlock command was refused before it was stored. It counts those whose bridge cannot be reached.
	Unsent func(error)
	// OpenWithin limits the time between the call and the opening of the door; 0, or a longer time, means lock.MaxDeadline.
	OpenWithin time.Duration
}

// Services are the implementations of the property API, for gRPC and Connect.
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
	Kiosk       propertyv1.KioskServiceServer
	Register    propertyv1.GuestRegisterServiceServer
	Audit       propertyv1.AuditServiceServer
	Privacy     propertyv1.PrivacyServiceServer
	TestStay    propertyv1.TestStayServiceServer
}

// New returns those services of the property API that need only Deps.
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
		Kiosk:       &kiosks{Deps: d},
		Register:    &register{Deps: d},
		Audit:       &auditLog{Deps: d},
		Privacy:     &privacy{Deps: d},
		TestStay:    &testStays{Deps: d},
	}
}

// Renderers returns the functions that add PINs, a current result, or what StripPersonal removed to the stored answer of a repeated call,
// by full method name: see [idem.Answers].
func Renderers(d Deps) map[string]idem.Renderer {
	return map[string]idem.Renderer{
		propertyv1.LockService_UnlockLock_FullMethodName:       (&locks{Deps: d}).renderCommand,
		propertyv1.CodeService_RevealCode_FullMethodName:       (&codes{Deps: d}).renderCodePINs,
		propertyv1.ReservationService_RevealPin_FullMethodName: (&reservations{Deps: d}).renderStayPIN,

		propertyv1.SmartKeyService_RevokeSmartKeyPhone_FullMethodName: (&smartKeys{Deps: d}).renderPhone,
		propertyv1.MailService_ResendMail_FullMethodName:              (&mails{Deps: d}).renderMail,
		propertyv1.MailService_ReportBounce_FullMethodName:            (&mails{Deps: d}).renderMail,
	}
}

// reasonNotStored replaces the reason of a refused stage in a stored answer: without any reason, the stage would count as cleared.
const reasonNotStored = "notStored"

// StripPersonal returns the functions that remove data of guests from answers before they are stored, by full method name: see
// [idem.Answers]. They are the PMS's texts about a guest, which the check-in keeps only until it ends, what staff typed about a refused
// stage, the names of phones, and what a mail says about its recipient.
func StripPersonal() map[string]func(proto.Message) {
	removeTexts := func(answer proto.Message) {
		data := answer.(interface {
			GetData() *propertyv1.StaffCheckIn
		}).GetData()
		for _, stop := range data.GetStops() {
			stop.PartnerReason, stop.PartnerMessage = "", ""
		}
		for _, c := range data.GetCleared() {
			if c.GetRefused() != "" {
				c.Refused = reasonNotStored
			}
		}
	}
	return map[string]func(proto.Message){
		propertyv1.CheckInService_AskAgain_FullMethodName:   removeTexts,
		propertyv1.CheckInService_ClearStage_FullMethodName: removeTexts,
		propertyv1.CheckInService_EndCall_FullMethodName:    removeTexts,
		propertyv1.CheckInService_WaiveOwing_FullMethodName: removeTexts,

		propertyv1.SmartKeyService_RevokeSmartKeyPhone_FullMethodName: removePhoneName,
		propertyv1.MailService_ResendMail_FullMethodName:              removeRecipient,
		propertyv1.MailService_ReportBounce_FullMethodName:            removeRecipient,
	}
}

// callerProperty returns the id of the caller's property. It refuses callers other than staff.
func callerProperty(ctx context.Context) (string, error) {
	a, ok := actor.From(ctx)
	if !ok || a.Kind != actor.Staff || a.PropertyID == "" {
		return "", credential.Refused()
	}
	return a.PropertyID, nil
}

// writeAsStaff runs a change of the caller's property in one transaction, which also adds the call to the audit log and stores the answer
// for repeated calls with the same Idempotency-Key. It refuses callers other than staff. f can run more than once: see [idem.Write].
func writeAsStaff[R proto.Message](ctx context.Context, d Deps, f func(tx *db.Tx, propertyID string) (R, error)) (R, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		var none R
		return none, err
	}
	return idem.Write(ctx, d.Answers, func(tx *db.Tx) (R, error) { return f(tx, propertyID) })
}

// now returns the current time of the database's clock.
func (d Deps) now(ctx context.Context) time.Time { return d.DB.View(ctx).Now() }

// defaultPage is the page size if the request sets none.
const defaultPage = 50

// maxPageNumber is the largest page number in a page token. A token with a larger one is refused.
const maxPageNumber = 1_000_000

// callerPage returns the caller's property and the page that a list request asks for. It refuses callers other than staff, and an invalid
// page token.
func callerPage(ctx context.Context, r interface {
	GetPageSize() int32
	GetPageToken() string
}) (propertyID string, p space.Page, err error) {
	if propertyID, err = callerProperty(ctx); err != nil {
		return "", space.Page{}, err
	}
	p, err = readPage(r.GetPageSize(), r.GetPageToken())
	return propertyID, p, err
}

// readPage parses a page size, of which 0 means defaultPage, and a page token, which is a page number from 0 to maxPageNumber, or "" for
// the first page.
func readPage(size int32, token string) (space.Page, error) {
	p := space.Page{Limit: int(size)}
	if p.Limit == 0 {
		p.Limit = defaultPage
	}
	if token == "" {
		return p, nil
	}
	n, err := strconv.Atoi(token)
	if err != nil || n < 0 || n > maxPageNumber {
		return p, fault.BadPageToken()
	}
	p.Number = n
	return p, nil
}

// nextPageToken returns the token of the page after p; "" if p is the last one. total is the number of entries on all pages.
func nextPageToken(p space.Page, total int) string {
	if (p.Number+1)*p.Limit >= total {
		return ""
	}
	return strconv.Itoa(p.Number + 1)
}

// RequireName returns an error if a name in a request is blank. field is its JSON name.
func RequireName(field, name string) error {
	if strings.TrimSpace(name) == "" {
		return fault.Fields(fault.Field{Path: field, Reason: fault.Required, Message: "must not be blank"})
	}
	return nil
}

// CheckOptionalName returns an error if an optional name in a request is blank. It accepts an empty one. field is its JSON name.
func CheckOptionalName(field, name string) error {
	if name == "" {
		return nil
	}
	return RequireName(field, name)
}

// PrefixFields prefixes the field paths of an error: the domain's "name" becomes "settings.name" in the request. The result is a new fault
// of wrong fields, without other details of err. It returns an error without fields unchanged.
func PrefixFields(prefix string, err error) error {
	f, ok := fault.Of(err)
	if !ok || len(f.Fields) == 0 {
		return err
	}
	return fault.Fields(prefixPaths(prefix, f.Fields)...)
}
