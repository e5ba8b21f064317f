// Package property stores the settings of a property.
package property

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"latchkey.dev/ent"
	"latchkey.dev/ent/property"
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// Effects of an unpaid reservation on self check-in.
const (
	OwingBlock     = "block"
	OwingAllow     = "allow"
	OwingThreshold = "threshold" // blocks only above Settings.OwingThresholdMinor
)

// Settings are the settings of a property. Nil keeps a setting. When the property is created, nil means the default; Name and TimeZone have
// none.
type Settings struct {
	Name                *string
	TimeZone            *string // IANA name
	CheckInTime         *string // HH:MM in the time zone
	CheckOutTime        *string // HH:MM in the time zone
	EarlyInMinutes      *int    // how long before the booked arrival codes open after a check-in on an earlier day
	LateOutMinutes      *int    // how long after the booked departure codes open
	PINLength           *int    // digits; 0: 8 where nothing slows guessing at a lock, else 6
	GatesAlone          *bool   // guests can open gates although their room has no lock
	BackupCodes         *bool   // locks with enough slots hold backup codes
	AccessStepUp        *bool   // staff prove again who they are before they open doors, or change or show access
	OwingPolicy         *string // OwingBlock (the default), OwingAllow or OwingThreshold
	OwingThresholdMinor *int64  // with OwingThreshold: the largest amount that does not block, in minor units of the currency that is owed
}

// maxThreshold is the maximum owing threshold, in minor units.
const maxThreshold = 1_000_000_000

var timeOfDay = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

// problems returns every invalid setting. The paths of fields are relative to the settings.
func (s Settings) problems() []fault.Field {
	var wrong []fault.Field
	add := func(path string, r fault.Reason, message string) {
		wrong = append(wrong, fault.Field{Path: path, Reason: r, Message: message})
	}
	switch {
	case s.Name != nil && strings.TrimSpace(*s.Name) == "":
		add("name", fault.Required, "must not be blank")
	case s.Name != nil && len(*s.Name) > 255:
		add("name", fault.OutOfRange, "must have 1 to 255 bytes")
	}
	if s.TimeZone != nil {
		if _, err := clock.Zone(*s.TimeZone); err != nil {
			add("timeZone", fault.WrongValue, "must be the IANA name of a time zone, such as Europe/Lisbon")
		}
	}
	clockTime := func(path string, v *string) {
		if v != nil && !timeOfDay.MatchString(*v) {
			add(path, fault.BadFormat, "must be HH:MM, 00:00 to 23:59")
		}
	}
	clockTime("checkInTime", s.CheckInTime)
	clockTime("checkOutTime", s.CheckOutTime)
	minutes := func(path string, v *int) {
		if v != nil && (*v < 0 || *v > 1440) {
			add(path, fault.OutOfRange, "must be 0 to 1440 minutes")
		}
	}
	minutes("earlyInMinutes", s.EarlyInMinutes)
	minutes("lateOutMinutes", s.LateOutMinutes)
	if s.PINLength != nil && *s.PINLength != 0 && (*s.PINLength < 6 || *s.PINLength > 8) {
		add("pinLength", fault.OutOfRange, "must be 6 to 8 digits, or 0 for 8 where nothing slows guessing and 6 elsewhere")
	}
	if p := s.OwingPolicy; p != nil && *p != OwingBlock && *p != OwingAllow && *p != OwingThreshold {
		add("owingPolicy", fault.WrongValue, "must be block, allow or threshold")
	}
	if v := s.OwingThresholdMinor; v != nil && (*v < 0 || *v > maxThreshold) {
		add("owingThresholdMinor", fault.OutOfRange, "must be 0 to 1000000000")
	}
	return wrong
}

// Fit returns a fault that names every invalid setting, or nil. Settings that are nil are valid, as in a change.
func (s Settings) Fit() error { return fault.Err(fault.Fields(s.problems()...)) }

// Complete returns a fault that names every invalid or missing setting of a new property, or nil.
func (s Settings) Complete() error {
	wrong := s.problems()
	if s.Name == nil {
		wrong = append(wrong, fault.Field{Path: "name", Reason: fault.Required, Message: "is required"})
	}
	if s.TimeZone == nil {
		wrong = append(wrong, fault.Field{Path: "timeZone", Reason: fault.Required, Message: "is required"})
	}
	if s.OwingPolicy != nil && *s.OwingPolicy == OwingThreshold && s.OwingThresholdMinor == nil {
		wrong = append(wrong, missingThreshold())
	}
	return fault.Err(fault.Fields(wrong...))
}

// missingThreshold returns the error for settings with [OwingThreshold] but without an amount.
func missingThreshold() fault.Field {
	return fault.Field{Path: "owingThresholdMinor", Reason: fault.Required, Message: "is required if owingPolicy is threshold"}
}

// NewID generates the id of a property and creates its data key, which must exist before the first secret is
// encrypted. It must not be called within a transaction.
func NewID(ctx context.Context, keys *keyring.Ring) (string, error) {
	propertyID := id.New(id.Property)
	if err := keys.EnsureKey(ctx, propertyID); err != nil {
		return "", fmt.Errorf("create the key of a property: %w", err)
	}
	return propertyID, nil
}

// Row is a property as stored.
type Row = ent.Property

// Create creates a property with an id from [NewID], and begins its audit log. For settings that [Settings.Complete] refuses, it returns
// that fault.
func Create(tx *db.Tx, keys *keyring.Ring, propertyID string, s Settings) (*ent.Property, error) {
	if err := s.Complete(); err != nil {
		return nil, err
	}
	row, err := tx.Property.Create().SetID(propertyID).SetName(*s.Name).SetTimeZone(*s.TimeZone).
		SetNillableCheckInTime(s.CheckInTime).SetNillableCheckOutTime(s.CheckOutTime).
		SetNillableEarlyInMinutes(s.EarlyInMinutes).SetNillableLateOutMinutes(s.LateOutMinutes).
		SetNillablePinLength(s.PINLength).SetNillableGatesAlone(s.GatesAlone).SetNillableBackupCodes(s.BackupCodes).SetNillableAccessStepUp(s.AccessStepUp).
		SetNillableOwingPolicy(s.OwingPolicy).SetNillableOwingThresholdMinor(s.OwingThresholdMinor).
		SetCreatedAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("store a property: %w", err)
	}
	return row, audit.Begin(tx, keys, propertyID)
}

// ChangesStayTimes reports whether the settings contain one that converts the dates of stays to times, even with the stored value.
func (s Settings) ChangesStayTimes() bool {
	return s.TimeZone != nil || s.CheckInTime != nil || s.CheckOutTime != nil
}

// Update changes settings of a property. It returns a fault with every invalid setting, or a not-found fault. In the same transaction, the
// caller must plan the access of the property's reservations again, and recompute their dates if [Settings.ChangesStayTimes] returns true.
// An error can follow the change, so the caller must then roll back.
func Update(tx *db.Tx, propertyID string, s Settings) (*ent.Property, error) {
	if err := s.Fit(); err != nil {
		return nil, err
	}
	row, err := tx.Property.UpdateOneID(propertyID).SetNillableName(s.Name).SetNillableTimeZone(s.TimeZone).
		SetNillableCheckInTime(s.CheckInTime).SetNillableCheckOutTime(s.CheckOutTime).
		SetNillableEarlyInMinutes(s.EarlyInMinutes).SetNillableLateOutMinutes(s.LateOutMinutes).
		SetNillablePinLength(s.PINLength).SetNillableGatesAlone(s.GatesAlone).SetNillableBackupCodes(s.BackupCodes).SetNillableAccessStepUp(s.AccessStepUp).
		SetNillableOwingPolicy(s.OwingPolicy).SetNillableOwingThresholdMinor(s.OwingThresholdMinor).
		Save(tx.Context())
	if ent.IsNotFound(err) {
		return nil, notFound()
	}
	if err != nil {
		return nil, fmt.Errorf("change a property: %w", err)
	}
	if s.OwingPolicy != nil && row.OwingPolicy == OwingThreshold && s.OwingThresholdMinor == nil && row.OwingThresholdMinor == 0 {
		return nil, fault.Fields(missingThreshold())
	}
	return row, nil
}

// Get returns one property, or a not-found fault. The caller must not change the result, which may be shared.
func Get(tx *db.Tx, propertyID string) (*ent.Property, error) {
	type propertyOf string
	return db.Cached(tx, []string{"properties"}, propertyOf(propertyID), func() (*ent.Property, error) {
		rows, err := tx.Property.Read(tx.Context(), "id = $1", propertyID)
		if err != nil {
			return nil, fmt.Errorf("find a property: %w", err)
		}
		if len(rows) == 0 {
			return nil, notFound()
		}
		return rows[0], nil
	})
}

// List returns at most size properties of the installation, oldest first, that follow the property with the id after; "" begins with the
// first.
func List(tx *db.Tx, size int, after string) ([]*ent.Property, error) {
	q := tx.Property.Query()
	if after != "" {
		q = q.Where(property.IDGT(after))
	}
	return q.Order(property.ByID()).Limit(size).All(tx.Context())
}

// notFound returns the error for a property that does not exist.
func notFound() error {
	return fault.New(fault.NotFound, fault.PropertyNotFound, "no such property")
}
