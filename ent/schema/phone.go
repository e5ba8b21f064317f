package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// PhoneLink lets one phone join a stay, once.
type PhoneLink struct{ ent.Schema }

func (PhoneLink) Annotations() []schema.Annotation {
	return table("phone_links", aboutGuests(privacy.Stay).Keeps("it names no guest"))
}

func (PhoneLink) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("reservation_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("session").Annotations(row).MaxRuneLen(40).Optional().Nillable().Immutable().Comment("The guest's session that made the link; null: staff did."),
		field.String("guest_id").Annotations(row).MaxRuneLen(40).Optional().Nillable().Immutable().Comment("The companion who made the link; empty: the main guest or staff."),
		field.Bytes("mac").Annotations(hashed(secret)).Immutable().Unique().Comment("Keyed hash of the link, which is shown once and not stored."),
		moment("expires_at"),
		maybe("used_at"),
		created(),
	}
}

func (PhoneLink) Indexes() []ent.Index {
	return []ent.Index{index.Fields("reservation_id"), index.Fields("expires_at")}
}

// Phone is a phone of a stay, with its public key.
type Phone struct{ ent.Schema }

func (Phone) Annotations() []schema.Annotation {
	return table("phones", aboutGuests(privacy.Erasure, privacy.Stay))
}

func (Phone) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("reservation_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("session").Annotations(row).MaxRuneLen(40).Optional().Nillable().Immutable().Comment("The guest's session that enrolled it and with which it ends, or null."),
		field.String("guest_id").Annotations(row).MaxRuneLen(40).Optional().Nillable().Immutable().Comment("The companion whose phone it is; empty: the main guest. Null in rows of former versions: see the session."),
		field.Bytes("label").Annotations(sealed(personal)).Optional().Comment("The name that the guest gave to the phone."),
		field.Bytes("key").Annotations(pseudonym).Immutable().Comment("The public key of the phone, as a COSE_Key."),
		field.String("key_id").Annotations(row).MaxRuneLen(16).Immutable(),
		field.String("subject").Annotations(pseudonym).MaxRuneLen(64).Immutable().Comment("The random name of the phone in tokens, one for each stay."),
		field.Int64("challenge_at").Annotations(pseudonym).Default(0).Comment("The time of the last challenge that was answered, in microseconds: a challenge is good once."),
		maybe("token_expires_at"),
		maybe("revoked_at"),
		created(),
	}
}

func (Phone) Indexes() []ent.Index {
	return []ent.Index{index.Fields("reservation_id"), index.Fields("property_id", "key_id"), index.Fields("session")}
}

// KeyStatus is an entry of the status list. A phone has one for each version of its stay's access.
type KeyStatus struct{ ent.Schema }

func (KeyStatus) Annotations() []schema.Annotation {
	return table("key_statuses", aboutGuests(privacy.Expiry).Keeps("a number stays revoked until its tokens have expired"))
}

func (KeyStatus) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.Int64("number").Annotations(row).Immutable().Comment("The index of the entry in the status list."),
		field.String("phone_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("grant_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.Int("key_generation").Annotations(pseudonym).Immutable().Comment("The key generation of the grant when the entry was made: a later generation revokes it."),
		field.Strings("lock_ids").Annotations(pseudonym).Comment("The locks that tokens of this entry open, in order."),
		field.Time("since").Annotations(row).SchemaType(momentType).Comment("Since when the phone has had a valid token without a gap. Earlier openings belong to other entries."),
		moment("ends_at"),
		maybe("revoked_at"),
		field.Int64("generation").Annotations(pseudonym).Default(0).Comment("The generation of the issuer when the last token was made."),
		field.Int64("key_set_version").Annotations(pseudonym).Default(0).Comment("The version of the key set when the last token was made. It has the key that signed the token."),
		field.Int64("list_number").Annotations(pseudonym).Default(0).Comment("The first list that is long enough for this entry."),
		field.Int64("revoked_list").Annotations(pseudonym).Default(0).Comment("The first list that revokes it."),
		field.Strings("checked_ids").Annotations(pseudonym).Optional().Comment("Locks whose bridge accepted a token of this entry."),
		field.Strings("opened_ids").Annotations(pseudonym).Optional().Comment("Locks that a token of this entry opened."),
	}
}

func (KeyStatus) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "number").Unique(), index.Fields("phone_id"), index.Fields("grant_id"), index.Fields("ends_at"),
	}
}

// DoorRule is what one door requires of SmartKeys in addition to the common rules. Its id is the lock's.
type DoorRule struct{ ent.Schema }

func (DoorRule) Annotations() []schema.Annotation { return table("door_rules", aboutThings()) }

func (DoorRule) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.Int64("floor").Annotations(none).Default(0).Comment("Tokens of a lower generation do not open the door."),
		field.Int("list_age_seconds").Annotations(none).Default(0).Comment("How old the status list may be; 0: the common limit."),
		created(),
	}
}

func (DoorRule) Indexes() []ent.Index { return []ent.Index{index.Fields("property_id")} }
