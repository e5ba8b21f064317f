package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Person works at properties of the installation. What it says about the person is sealed with the key of the installation.
type Person struct{ ent.Schema }

func (Person) Annotations() []schema.Annotation { return table("people") }

func (Person) Fields() []ent.Field {
	return []ent.Field{
		id(),
		field.Bytes("email_mac").Immutable().Unique().Comment("Keyed hash of the folded address."),
		field.Bytes("email").Immutable().Comment("Sealed."),
		field.Bytes("name").Comment("Sealed."),
		field.String("password").MaxRuneLen(255).Comment("Argon2id, in PHC format."),
		field.Bytes("totp_secret").Optional().Comment("Sealed."),
		maybe("totp_confirmed_at"),
		field.Int64("totp_step").Default(0).Comment("The step of the last code that was used."),
		maybe("disabled_at"),
		created(),
	}
}

// Membership is the role of a person at a property.
type Membership struct{ ent.Schema }

func (Membership) Annotations() []schema.Annotation { return table("memberships") }

func (Membership) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("person_id").MaxRuneLen(40).Immutable(),
		field.String("role").MaxRuneLen(16).Comment("owner, manager, frontDesk or housekeeping."),
		maybe("disabled_at"),
		created(),
	}
}

func (Membership) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id", "person_id").Unique(), index.Fields("person_id")}
}

// PersonSession is a session of a person on one device.
type PersonSession struct{ ent.Schema }

func (PersonSession) Annotations() []schema.Annotation { return table("person_sessions") }

func (PersonSession) Fields() []ent.Field {
	return []ent.Field{
		id(),
		field.String("person_id").MaxRuneLen(40).Immutable(),
		field.Bytes("mac").Unique().Comment("Keyed hash of the token."),
		field.Bool("pending").Default(false).Comment("The second factor is missing."),
		field.String("device").MaxRuneLen(100).Default(""),
		moment("used_at"),
		moment("ends_at"),
		maybe("second_factor_at"),
		created(),
	}
}

func (PersonSession) Indexes() []ent.Index {
	return []ent.Index{index.Fields("person_id"), index.Fields("ends_at")}
}

// PersonInvitation is a link with which a person joins a property, or with which the first owner creates one.
type PersonInvitation struct{ ent.Schema }

func (PersonInvitation) Annotations() []schema.Annotation { return table("person_invitations") }

func (PersonInvitation) Fields() []ent.Field {
	return []ent.Field{
		id(),
		field.String("property_id").MaxRuneLen(40).Optional().Immutable().Comment("NULL: the owner creates the property."),
		field.Bytes("mac").Unique().Comment("Keyed hash of the secret."),
		field.Bytes("email_mac").Optional().Immutable().Comment("NULL: the owner chooses the address."),
		field.Bytes("email").Optional().Immutable().Comment("Sealed."),
		field.String("role").MaxRuneLen(16).Immutable(),
		field.String("invited_by").MaxRuneLen(80).Immutable(),
		moment("ends_at"),
		created(),
	}
}

func (PersonInvitation) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id"), index.Fields("ends_at")}
}

// RecoveryCode replaces a code of the authenticator app once.
type RecoveryCode struct{ ent.Schema }

func (RecoveryCode) Annotations() []schema.Annotation { return table("recovery_codes") }

func (RecoveryCode) Fields() []ent.Field {
	return []ent.Field{
		id(),
		field.String("person_id").MaxRuneLen(40).Immutable(),
		field.Bytes("mac").Immutable().Comment("Keyed hash of person and code."),
		maybe("used_at"),
	}
}

func (RecoveryCode) Indexes() []ent.Index { return []ent.Index{index.Fields("person_id")} }

// SignInAttempts counts failed attempts to sign in with one address, or from one network. Its id is a keyed hash of which.
type SignInAttempts struct{ ent.Schema }

func (SignInAttempts) Annotations() []schema.Annotation { return table("sign_in_attempts") }

func (SignInAttempts) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").MaxRuneLen(64).Immutable(),
		moment("began_at"),
		moment("last_at"),
		field.Int("count").Default(0).Comment("Since began_at."),
	}
}

func (SignInAttempts) Indexes() []ent.Index { return []ent.Index{index.Fields("last_at")} }
