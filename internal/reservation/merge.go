package reservation

import (
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

// Hours are the property's hours that turn a day of arrival or departure into an instant.
type Hours struct {
	Zone     *time.Location
	CheckIn  string // CheckIn is HH:MM in Zone and completes a day of arrival
	CheckOut string // CheckOut is HH:MM in Zone and completes a day of departure
}

// maxClockAhead is how far the PMS's clock may be ahead of the server's clock. A later pmsMeta.updatedAt is refused.
const maxClockAhead = 5 * time.Minute

// Merge applies a patch to a stored record; held is nil for a new reservation. It returns all wrong fields; if there
// are any, do not use the record. A field that the patch names without a value is cleared. For arrival and departure,
// an instant replaces an earlier day, and a day an earlier instant. Erased fields stay empty, unless the patch describes
// a new stay with the same id.
func Merge(held *Record, p Patch, h Hours, now time.Time) (Record, []fault.Field) {
	if held == nil || held.ErasedAt == nil {
		return mergeFields(held, p, h, now)
	}
	out, wrong := mergeFields(held, p.withoutPersonal(), h, now)
	if !isNewStay(*held, p, out.From) {
		return out, wrong
	}
	fresh := *held
	fresh.ErasedAt = nil
	return mergeFields(&fresh, p, h, now)
}

// mergeFields applies a patch to a stored record, without the test of [Merge] for a new stay. While held.ErasedAt is set, it neither
// changes nor checks the fields of the booker, but it does merge CompanionIDs: pass a patch from withoutPersonal to keep them empty, or a
// record without ErasedAt to fill all fields again.
func mergeFields(held *Record, p Patch, h Hours, now time.Time) (Record, []fault.Field) {
	m := &merge{patch: p, hours: h, now: now}
	if held != nil {
		m.out = *held
	}
	before := m.out
	m.identity()
	m.booker()
	m.texts()
	m.state()
	m.space()
	m.dates()
	m.counts()
	m.money(before)
	return m.out, m.wrong
}

// merge is the state of one call of [Merge]: the result so far and the wrong fields.
type merge struct {
	patch Patch
	hours Hours
	now   time.Time
	out   Record
	wrong []fault.Field
}

// addWrong records an error of a field that the PMS sent.
func (m *merge) addWrong(f Field, reason fault.Reason, message string) {
	m.wrong = append(m.wrong, fault.Field{Path: string(f), Reason: reason, Message: message})
}

// required sets a mandatory field to the sent value, without trimming it. It adds an error if the result is blank; what describes the
// expected value in that error. A stored text of invisible characters, which was accepted once, does not block changes of other fields.
func (m *merge) required(f Field, to *string, what string) {
	v, named := m.patch.textOrEmpty(f)
	if named {
		*to = v
	}
	if *to == "" || named && text.IsBlank(*to) {
		m.addWrong(f, fault.Required, "is required: "+what)
	}
}

// optional sets an optional field to the sent value, without a check. It leaves a field unchanged that the patch does not name, and clears
// it for null or an empty string.
func (m *merge) optional(f Field, to **string) {
	v, named := m.patch.text(f)
	if !named {
		return
	}
	if v != nil && *v == "" {
		v = nil
	}
	*to = v
}

// identity merges the ids, the numbers and the PMS's time of change.
func (m *merge) identity() {
	m.required(PMSID, &m.out.PMSID, "the id of the reservation in the PMS")
	m.required(Number, &m.out.Number, "the reservation number that people use")
	m.optional(GroupID, &m.out.GroupID)
	if v, named := m.patch[CompanionIDs]; named {
		m.out.CompanionIDs = nil
		if ids, _ := v.([]string); len(ids) > 0 {
			m.out.CompanionIDs = ids
		}
	}
	if v, named := m.patch[PMSUpdatedAt]; named {
		m.out.PMSUpdatedAt = nil
		if t, ok := v.(time.Time); ok {
			t = t.UTC().Truncate(time.Microsecond)
			m.out.PMSUpdatedAt = &t
			if t.After(m.now.Add(maxClockAhead)) {
				m.addWrong(PMSUpdatedAt, fault.InFuture, "is more than 5 minutes ahead of the server's clock; correct the PMS's clock, or leave the field out")
			}
		}
	}
}

// booker merges the data of the booker, unless they were erased.
func (m *merge) booker() {
	if m.out.ErasedAt != nil {
		return
	}
	m.optional(FirstName, &m.out.FirstName)
	m.required(LastName, &m.out.LastName, "the last name of the booker")
	m.optional(Mobile, &m.out.Mobile)
	if v, named := m.patch.textOrEmpty(Email); named && v != "" && !text.IsAddress(v) {
		m.addWrong(Email, fault.BadFormat, "is not an email address such as ada@example.com")
	}
	m.optional(Email, &m.out.Email)
}

// texts merges, without a check, the name of the booking's source, the channel manager, and the channel's number of the booking.
func (m *merge) texts() {
	m.optional(SourceName, &m.out.SourceName)
	m.optional(ChannelManager, &m.out.ChannelManager)
	m.optional(ChannelNumber, &m.out.ChannelNumber)
}

const states = "enquired, requested, optional, confirmed, started, processed or canceled"

// state merges the state. It adds an error if there is none or it is unknown.
func (m *merge) state() {
	if v, named := m.patch.textOrEmpty(State); named {
		m.out.State = access.State(v)
	}
	switch {
	case m.out.State == "":
		m.addWrong(State, fault.Required, "is required: one of "+states)
	case !m.out.State.Valid():
		m.addWrong(State, fault.WrongValue, "must be one of "+states)
	}
}

// space sets the PMS's space, under either of its field names, or the Latchkey space. Each form replaces the other;
// both at once are an error. A room without a bed is a private room, so it also replaces a stored bed; a bed without
// a room replaces a stored private room.
func (m *merge) space() {
	bed, bedNamed := m.alias(SpaceID, BedID)
	room, roomNamed := m.alias(ParentID, RoomID)
	own, ownNamed := m.patch.text(OwnSpaceID)
	if own != nil && *own == "" {
		own = nil
	}
	switch {
	case bed != nil && !roomNamed && m.out.SpaceID == nil:
		roomNamed = true
	case differs(room, m.out.ParentID) && !bedNamed:
		bedNamed = true
	}
	if bedNamed {
		m.out.SpaceID = bed
	}
	if roomNamed {
		m.out.ParentID = room
	}
	if ownNamed {
		m.out.OwnSpaceID = own
	}
	theirs := bed != nil || room != nil
	switch {
	case own != nil && theirs:
		m.addWrong(OwnSpaceID, fault.Conflicting, "names a Latchkey space, and pmsMeta.spaceId, pmsMeta.parentSpaceId, roomId or bedId one of the PMS: send one of the two")
	case own != nil:
		m.out.SpaceID, m.out.ParentID = nil, nil
	case theirs:
		m.out.OwnSpaceID = nil
	}
}

// differs reports whether a value was sent that differs from the stored value, or that has no stored value.
func differs(sent, held *string) bool { return sent != nil && (held == nil || *held != *sent) }

// alias reads a field that has two names in the API. It returns the sent value, nil if it is empty or null, and whether either name was
// sent, and adds an error if both were sent with different values.
func (m *merge) alias(f, other Field) (value *string, named bool) {
	a, aNamed := m.patch.text(f)
	b, bNamed := m.patch.text(other)
	if a != nil && *a == "" {
		a = nil
	}
	if b != nil && *b == "" {
		b = nil
	}
	if a != nil && b != nil && *a != *b {
		m.addWrong(other, fault.Conflicting, "is the same field as "+string(f)+", and their values differ")
	}
	if a == nil {
		a = b
	}
	return a, aNamed || bNamed
}

// counts merges the numbers of adults and children.
func (m *merge) counts() {
	m.count(Adults, &m.out.Adults)
	m.count(Children, &m.out.Children)
}

// count merges, without a check, the number of adults or of children. A sent null clears it.
func (m *merge) count(f Field, to **int) {
	v, named := m.patch[f]
	if !named {
		return
	}
	*to = nil
	if n, ok := v.(int); ok {
		*to = &n
	}
}
