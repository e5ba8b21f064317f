// Package reservation stores the reservations of the PMS. Latchkey never changes a field that the PMS owns. One transaction stores a
// change and plans the access that follows from it.
package reservation

import (
	"time"

	"latchkey.dev/internal/access"
)

// Record is a reservation as the PMS last described it.
type Record struct {
	PMSID        string
	GroupID      *string
	SpaceID      *string // the partner's bed or room
	ParentID     *string // the partner's room: with SpaceID the room of that bed, without it a private room
	CompanionIDs []string
	PMSUpdatedAt *time.Time

	Number string
	Booker
	Erased bool // Booker and CompanionIDs were erased

	State    access.State
	FromDate *string // YYYY-MM-DD, if the PMS gave a day
	ToDate   *string
	From, To time.Time // zero: not given

	Adults, Children *int
	Price, Owing     *int64 // minor units of Currency
	Currency         *string

	SourceName     *string
	ChannelManager *string
	ChannelNumber  *string

	OwnSpaceID *string // a Latchkey space, named instead of the partner's
}

// SpaceKey is the partner's space that decides: the bed or room, else the parent room.
func (r Record) SpaceKey() string {
	if r.SpaceID != nil {
		return *r.SpaceID
	}
	return valueOrZero(r.ParentID)
}

func valueOrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Field is a field of a reservation, as the API spells it.
type Field string

// The fields the PMS may send.
const (
	PMSID          Field = "pmsMeta.id"
	GroupID        Field = "pmsMeta.groupId"
	SpaceID        Field = "pmsMeta.spaceId"
	ParentID       Field = "pmsMeta.parentSpaceId"
	CompanionIDs   Field = "pmsMeta.companionIds"
	PMSUpdatedAt   Field = "pmsMeta.updatedAt"
	Number         Field = "pmsNumber"
	FirstName      Field = "booker.firstName"
	LastName       Field = "booker.lastName"
	Email          Field = "booker.email"
	Mobile         Field = "booker.mobile"
	State          Field = "state"
	From           Field = "from"
	To             Field = "to"
	FromDate       Field = "fromDate"
	ToDate         Field = "toDate"
	Adults         Field = "adultCount"
	Children       Field = "childCount"
	Price          Field = "price"
	Owing          Field = "owing"
	Currency       Field = "owingCurrency"
	SourceName     Field = "sourceName"
	ChannelManager Field = "channelManager"
	ChannelNumber  Field = "channelNumber"
	OwnSpaceID     Field = "parentSpaceId"
	RoomID         Field = "roomId" // an alias of ParentID
	BedID          Field = "bedId"  // an alias of SpaceID
)

// Patch is one change from the PMS: the named fields, each with its value, or nil to clear it.
type Patch map[Field]any

// The values of a Patch are strings, except these.
//
//	CompanionIDs    []string
//	PMSUpdatedAt    time.Time
//	Adults Children int
//	Price Owing     float64

// text returns a string field: whether the patch names it, and its value, nil to clear it.
func (p Patch) text(f Field) (value *string, named bool) {
	v, named := p[f]
	if s, ok := v.(string); ok {
		return &s, named
	}
	return nil, named
}
