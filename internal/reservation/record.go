// Package reservation stores the reservations of the PMS. Latchkey never changes a field that the PMS owns. A change
// and the access plan that follows from it are stored in one transaction.
package reservation

import (
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
)

// Record is a reservation as all patches of the PMS so far left it: see Merge. An erasure empties Booker and CompanionIDs.
type Record struct {
	PMSID        string
	GroupID      *string
	SpaceID      *string // SpaceID is the PMS's id of a bed or room; nil if the PMS names none, or only a private room, which is in ParentID
	ParentID     *string // ParentID is the PMS's id of the room of the bed SpaceID, or of a private room if SpaceID is nil; nil: none
	CompanionIDs []string
	PMSUpdatedAt *time.Time

	Number string
	Booker
	ErasedAt *time.Time // ErasedAt is when Booker and CompanionIDs were erased, or nil

	State    access.State
	FromDate *string // FromDate is YYYY-MM-DD if the PMS gave a day, else nil
	ToDate   *string
	From, To time.Time // From and To follow from FromDate and ToDate if these are set; zero, which Merge refuses, if the PMS gave no time or day

	Adults, Children *int
	Price, Owing     *int64 // Price and Owing are in minor units of Currency, without a currency in thousandths (see defaultDecimals); nil: none
	Currency         *string

	SourceName     *string
	ChannelManager *string
	ChannelNumber  *string

	OwnSpaceID *string // OwnSpaceID is a Latchkey space that is named instead of the PMS's space; nil: none
}

// SpaceKey returns the PMS's space that determines access: the bed or room, else the parent room, or "".
func (r Record) SpaceKey() string {
	if r.SpaceID != nil {
		return *r.SpaceID
	}
	return db.OrZero(r.ParentID)
}

// Field is the name of a reservation's field in the API.
type Field string

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
	RoomID         Field = "roomId" // RoomID is another name of ParentID
	BedID          Field = "bedId"  // BedID is another name of SpaceID
)

// Patch is one change from the PMS: the sent fields with their values; nil clears a field.
type Patch map[Field]any

// The values of a Patch are strings, except these. A value of another type clears the field, like nil.
//
//	CompanionIDs    []string
//	PMSUpdatedAt    time.Time
//	Adults Children int
//	Price Owing     float64

// text returns the value of a string field, and whether the patch names the field. The value is nil if the patch clears the field or does
// not name it.
func (p Patch) text(f Field) (value *string, named bool) {
	v, named := p[f]
	if s, ok := v.(string); ok {
		return &s, named
	}
	return nil, named
}

// textOrEmpty is text with "" in place of nil.
func (p Patch) textOrEmpty(f Field) (value string, named bool) {
	v, named := p[f]
	value, _ = v.(string)
	return value, named
}
