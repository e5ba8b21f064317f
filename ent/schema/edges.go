package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/edge"
)

// The edges of this file are the foreign keys of the database. They go from a row to its nearest owner. They are in a file of
// their own because the generated client has none of them: a query along an edge would not name the property.
//
// Most rules refuse to delete an owner that still has rows (NO ACTION): property delete and retention delete the rows
// themselves, in batches. A rule cascades only where an owner has few rows and all of them mean nothing without it.

// ownedBy declares the foreign key of a required column that never changes.
func ownedBy(name string, owner any, column string, rule entsql.ReferenceOption) []ent.Edge {
	return []ent.Edge{edge.To(name, owner).Field(column).Unique().Required().Immutable().Annotations(entsql.OnDelete(rule))}
}

// maybeOwnedBy is ownedBy for a column that may be NULL.
func maybeOwnedBy(name string, owner any, column string, rule entsql.ReferenceOption) ent.Edge {
	return edge.To(name, owner).Field(column).Unique().Immutable().Annotations(entsql.OnDelete(rule))
}

func (Bridge) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.NoAction)
}

func (Code) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.NoAction)
}

func (Gate) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.NoAction)
}

// The id of a counter is a lock or the property itself, and one column cannot refer to two tables.
func (Guesses) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.NoAction)
}

// The subject of a notice is an object of any kind: a stay, a lock, a bridge, an integration or a tablet.
func (Notice) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.NoAction)
}

func (Space) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.NoAction)
}

func (Tombstone) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.NoAction)
}

func (Integration) Edges() []ent.Edge {
	return append(ownedBy("property", Property.Type, "property_id", entsql.NoAction),
		maybeOwnedBy("app", App.Type, "app_id", entsql.NoAction))
}

func (Token) Edges() []ent.Edge {
	return []ent.Edge{
		maybeOwnedBy("property", Property.Type, "property_id", entsql.Cascade),
		maybeOwnedBy("integration", Integration.Type, "integration_id", entsql.Cascade),
		maybeOwnedBy("app", App.Type, "app_id", entsql.Cascade),
	}
}

func (Endpoint) Edges() []ent.Edge {
	return ownedBy("integration", Integration.Type, "integration_id", entsql.Cascade)
}

func (Webhook) Edges() []ent.Edge {
	return ownedBy("integration", Integration.Type, "integration_id", entsql.Cascade)
}

// The cursor of a subscriber inside the program has no webhook.
func (EventCursor) Edges() []ent.Edge {
	return []ent.Edge{maybeOwnedBy("webhook", Webhook.Type, "webhook_id", entsql.Cascade)}
}

func (PartnerSpace) Edges() []ent.Edge {
	return ownedBy("integration", Integration.Type, "integration_id", entsql.Cascade)
}

func (MappingChange) Edges() []ent.Edge {
	return ownedBy("integration", Integration.Type, "integration_id", entsql.Cascade)
}

func (Conflict) Edges() []ent.Edge {
	return ownedBy("integration", Integration.Type, "integration_id", entsql.Cascade)
}

func (Mapping) Edges() []ent.Edge {
	return append(ownedBy("integration", Integration.Type, "integration_id", entsql.Cascade),
		// Access depends on mappings: unmap first.
		edge.To("space", Space.Type).Field("space_id").Unique().Required().Annotations(entsql.OnDelete(entsql.NoAction)))
}

func (Reservation) Edges() []ent.Edge {
	return ownedBy("integration", Integration.Type, "integration_id", entsql.NoAction)
}

// The name of this foreign key is older than the edge.
func (ReservationName) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("reservation", Reservation.Type).Field("reservation_id").Unique().Required().Immutable().
			StorageKey(edge.Symbol("reservation_names_reservations_names")).Annotations(entsql.OnDelete(entsql.Cascade)),
	}
}

func (PhoneLink) Edges() []ent.Edge {
	return ownedBy("reservation", Reservation.Type, "reservation_id", entsql.Cascade)
}

// Tokens of a phone may still be good.
func (Phone) Edges() []ent.Edge {
	return ownedBy("reservation", Reservation.Type, "reservation_id", entsql.NoAction)
}

// A lock may still hold a code of a grant.
func (Grant) Edges() []ent.Edge {
	return ownedBy("reservation", Reservation.Type, "reservation_id", entsql.NoAction)
}

// A lock may still hold a PIN of a grant or a code.
func (Pin) Edges() []ent.Edge {
	return []ent.Edge{
		maybeOwnedBy("grant", Grant.Type, "grant_id", entsql.NoAction),
		maybeOwnedBy("code", Code.Type, "code_id", entsql.NoAction),
	}
}

// A number of the status list stays revoked until its tokens have expired.
func (KeyStatus) Edges() []ent.Edge {
	return append(ownedBy("phone", Phone.Type, "phone_id", entsql.NoAction), ownedBy("grant", Grant.Type, "grant_id", entsql.NoAction)...)
}

// A lock stays while one of its slots does.
func (Lock) Edges() []ent.Edge { return ownedBy("bridge", Bridge.Type, "bridge_id", entsql.NoAction) }

// A slot may still hold a code, and its generation only grows.
func (Slot) Edges() []ent.Edge { return ownedBy("lock", Lock.Type, "lock_id", entsql.NoAction) }

func (LockSample) Edges() []ent.Edge { return ownedBy("lock", Lock.Type, "lock_id", entsql.Cascade) }

func (KeySet) Edges() []ent.Edge {
	return ownedBy("issuer", Issuer.Type, "property_id", entsql.Cascade)
}

func (IssuerKey) Edges() []ent.Edge {
	return ownedBy("issuer", Issuer.Type, "property_id", entsql.Cascade)
}

func (Stay) Edges() []ent.Edge {
	return ownedBy("reservation", Reservation.Type, "reservation_id", entsql.NoAction)
}

func (Guest) Edges() []ent.Edge {
	return ownedBy("reservation", Reservation.Type, "reservation_id", entsql.NoAction)
}

// A conversation is erased with the guest.
func (Message) Edges() []ent.Edge { return ownedBy("guest", Guest.Type, "guest_id", entsql.Cascade) }

// A disclosure is erased with the guest.
func (Disclosure) Edges() []ent.Edge { return ownedBy("guest", Guest.Type, "guest_id", entsql.Cascade) }

func (GuestLink) Edges() []ent.Edge {
	return ownedBy("reservation", Reservation.Type, "reservation_id", entsql.Cascade)
}

func (GuestSession) Edges() []ent.Edge {
	return ownedBy("reservation", Reservation.Type, "reservation_id", entsql.Cascade)
}

func (GuestProfile) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.NoAction)
}

// A link ends with the profile that it leads to.
func (ProfileLink) Edges() []ent.Edge {
	return ownedBy("profile", GuestProfile.Type, "profile_id", entsql.Cascade)
}

// An entry outlives its reservation and its guest.
func (RegisterEntry) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.NoAction)
}

// An erasure outlives its reservation.
func (Erasure) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.NoAction)
}

func (Kiosk) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.NoAction)
}

// The id of a counter is a keyed hash of a source or of a number, which may belong to no stay.
func (Attempts) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.Cascade)
}

func (CheckInSettings) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.Cascade)
}

func (MailSettings) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.Cascade)
}

func (Invitation) Edges() []ent.Edge {
	return ownedBy("reservation", Reservation.Type, "reservation_id", entsql.Cascade)
}

// A mail to staff may be about no stay, and one about a booking names only the first of its stays.
func (Mail) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.NoAction)
}

func (FormerPerson) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.NoAction)
}

func (Membership) Edges() []ent.Edge {
	return append(ownedBy("property", Property.Type, "property_id", entsql.NoAction), ownedBy("person", Person.Type, "person_id", entsql.Cascade)...)
}

func (AuditHead) Edges() []ent.Edge {
	return ownedBy("property", Property.Type, "property_id", entsql.NoAction)
}

func (PersonSession) Edges() []ent.Edge {
	return ownedBy("person", Person.Type, "person_id", entsql.Cascade)
}

func (PersonInvitation) Edges() []ent.Edge {
	return []ent.Edge{maybeOwnedBy("property", Property.Type, "property_id", entsql.Cascade)}
}

func (RecoveryCode) Edges() []ent.Edge {
	return ownedBy("person", Person.Type, "person_id", entsql.Cascade)
}

func (Passkey) Edges() []ent.Edge {
	return ownedBy("person", Person.Type, "person_id", entsql.Cascade)
}

// WithoutOwner lists the tables without a foreign key, and why.
var WithoutOwner = map[string]string{
	"apps":       "an app belongs to the installation",
	"nodes":      "a node belongs to the installation",
	"people":     "a person belongs to the installation, and may work at several properties",
	"properties": "a property belongs to the installation",
	"secrets":    "a secret belongs to the installation",

	"used_challenges":  "a challenge belongs to the browser that began a sign-in, before any person is known",
	"sign_in_attempts": "a count belongs to a keyed hash of an address, also of one that no person has",

	"audit_entries":       "append-only: a chain of who did what, whose head refers to the property",
	"acts":                "a log of unlock commands, whose states change until they end: who opened which door, also of a lock or stay that is gone",
	"events":              "append-only: it records what happened to a subject of any kind, also to one that is gone",
	"reservation_changes": "append-only: a list by time of change, whose rows expire when they are superseded",
	"idempotency_keys":    "answers of calls, which expire; some calls belong to no property",

	"property_keys": "two keys belong to no property; the key of a property is stored before the property, in a transaction of its own, because it " +
		"seals the property's first rows and a rollback must not undo a key that is in use; both are deleted in one transaction",
}
