package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Person works at properties of the installation. What it says about the person is sealed with the key of the installation.
type Person struct{ ent.Schema }

func (Person) Annotations() []schema.Annotation { return table("people", aboutStaff(privacy.Expiry)) }

func (Person) Fields() []ent.Field {
	return []ent.Field{
		id(),
		field.Bytes("email_mac").Annotations(hashed(personal)).Immutable().Unique().Comment("Keyed hash of the address in lower case."),
		field.Bytes("email").Annotations(sealed(personal)).Immutable().Comment("The address, sealed."),
		field.Bytes("name").Annotations(sealed(personal)).Comment("The name, sealed."),
		field.String("password").Annotations(hashed(secret)).MaxRuneLen(255).Comment("The hash of the password: Argon2id, in PHC format."),
		field.Bytes("totp_secret").Annotations(sealed(secret)).Optional().Comment("The secret of the second factor, sealed."),
		maybe("totp_confirmed_at"),
		field.Int64("totp_step").Annotations(pseudonym).Default(0).Comment("The step of the last code that was used."),
		maybe("disabled_at"),
		maybe("address_confirmed_at"), // unused; a server of the version before reads it during an upgrade
		field.Bytes("identity_mac").Annotations(hashed(personal)).Optional().Unique().Comment("Keyed hash of issuer and subject at the identity provider. NULL: not linked."),
		field.String("identity_issuer").Annotations(pseudonym).MaxRuneLen(255).Optional().Comment("The issuer of the link."),
		created(),
	}
}

// Membership is the role of a person at a property.
type Membership struct{ ent.Schema }

func (Membership) Annotations() []schema.Annotation {
	return table("memberships", aboutStaff(privacy.Deletion))
}

func (Membership) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("person_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("role").Annotations(pseudonym).MaxRuneLen(16).Comment("owner, manager, frontDesk or housekeeping."),
		maybe("disabled_at"),
		maybe("used_at"), // the last call of the person at the property, to the minute
		field.Strings("notices_hidden").Annotations(pseudonym).Optional().Comment("The groups of notices that the person does not see."),
		field.Strings("notices_by_mail").Annotations(pseudonym).Optional().Comment("The groups of notices that the person gets by mail."),
		field.String("notices_from").Annotations(pseudonym).MaxRuneLen(5).Optional().Comment("HH:MM, when mails begin each day. Empty: they come at any time."),
		field.String("notices_until").Annotations(pseudonym).MaxRuneLen(5).Optional().Comment("HH:MM, when they end."),
		field.String("notices_mailed_to").Annotations(row).MaxRuneLen(40).Optional().Nillable().Comment("The last notice that was considered for a mail. NULL: the person gets none."),
		created(),
	}
}

func (Membership) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id", "person_id").Unique(), index.Fields("person_id"), index.Fields("notices_mailed_to")}
}

// FormerPerson keeps the name of a person who was removed from a property, as long as the audit log may name the person.
type FormerPerson struct{ ent.Schema }

func (FormerPerson) Annotations() []schema.Annotation {
	return table("former_people", aboutStaff(privacy.Audit))
}

func (FormerPerson) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("person_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.Bytes("name").Annotations(sealed(personal)).Comment("Sealed with the property's key."),
		created(),
	}
}

func (FormerPerson) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id", "person_id").Unique(), index.Fields("created_at")}
}

// PersonSession is a session of a person on one device.
type PersonSession struct{ ent.Schema }

func (PersonSession) Annotations() []schema.Annotation {
	return table("person_sessions", aboutStaff(privacy.Expiry))
}

func (PersonSession) Fields() []ent.Field {
	return []ent.Field{
		id(),
		field.String("person_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.Bytes("mac").Annotations(hashed(secret)).Unique().Comment("Keyed hash of the token."),
		field.Bool("pending").Annotations(pseudonym).Default(false).Comment("The second factor is missing."),
		field.String("device").Annotations(pseudonym).MaxRuneLen(100).Default(""),
		moment("used_at"),
		moment("ends_at"),
		maybe("second_factor_at"),
		maybe("proved_at"), // the last time that the person gave a password or a passkey, or signed in at the identity provider
		created(),
	}
}

func (PersonSession) Indexes() []ent.Index {
	return []ent.Index{index.Fields("person_id"), index.Fields("ends_at")}
}

// PersonInvitation is a link with which a person joins a property, or with which the first owner creates one.
type PersonInvitation struct{ ent.Schema }

func (PersonInvitation) Annotations() []schema.Annotation {
	return table("person_invitations", aboutStaff(privacy.Expiry))
}

func (PersonInvitation) Fields() []ent.Field {
	return []ent.Field{
		id(),
		field.String("property_id").Annotations(row).MaxRuneLen(40).Optional().Immutable().Comment("NULL: the owner creates the property."),
		field.Bytes("mac").Annotations(hashed(secret)).Unique().Comment("Keyed hash of the secret."),
		field.Bytes("email_mac").Annotations(hashed(personal)).Optional().Immutable().Comment("NULL: the owner chooses the address."),
		field.Bytes("email").Annotations(sealed(personal)).Optional().Immutable().Comment("The address, sealed."),
		field.String("role").Annotations(pseudonym).MaxRuneLen(16),
		field.String("invited_by").Annotations(pseudonym).MaxRuneLen(80),
		field.Int("round").Annotations(pseudonym).Default(0).Comment("How often the link was replaced."),
		moment("ends_at"),
		created(),
	}
}

func (PersonInvitation) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id", "email_mac").Unique(), index.Fields("ends_at")}
}

// RecoveryCode replaces a code of the authenticator app once.
type RecoveryCode struct{ ent.Schema }

func (RecoveryCode) Annotations() []schema.Annotation {
	return table("recovery_codes", aboutStaff(privacy.Superseded))
}

func (RecoveryCode) Fields() []ent.Field {
	return []ent.Field{
		id(),
		field.String("person_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.Bytes("mac").Annotations(hashed(secret)).Immutable().Comment("Keyed hash of person and code."),
		maybe("used_at"),
	}
}

func (RecoveryCode) Indexes() []ent.Index { return []ent.Index{index.Fields("person_id")} }

// SignInAttempts counts failed attempts to sign in with one address, or from one network, or remembers a network from which a person
// signed in. Its id is a keyed hash of which.
type SignInAttempts struct{ ent.Schema }

func (SignInAttempts) Annotations() []schema.Annotation {
	return table("sign_in_attempts", aboutStaff(privacy.Expiry))
}

func (SignInAttempts) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").Annotations(hashed(personal)).MaxRuneLen(64).Immutable(),
		moment("began_at"),
		moment("last_at"),
		field.Int("count").Annotations(pseudonym).Default(0).Comment("Failed attempts since began_at."),
	}
}

func (SignInAttempts) Indexes() []ent.Index { return []ent.Index{index.Fields("last_at")} }

// Passkey is a WebAuthn credential with which a person signs in.
type Passkey struct{ ent.Schema }

func (Passkey) Annotations() []schema.Annotation {
	return table("passkeys", aboutStaff(privacy.Superseded))
}

func (Passkey) Fields() []ent.Field {
	return []ent.Field{
		id(),
		field.String("person_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.Bytes("mac").Annotations(hashed(secret)).Immutable().Unique().Comment("Keyed hash of the credential's id."),
		field.Bytes("credential").Annotations(sealed(secret)).Comment("The id, public key, flags and sign count of the passkey, sealed."),
		field.String("name").Annotations(pseudonym).MaxRuneLen(60),
		maybe("used_at"),
		created(),
	}
}

func (Passkey) Indexes() []ent.Index { return []ent.Index{index.Fields("person_id")} }

// UsedChallenge is a challenge of a sign-in that was answered, so that the same answer works once. Its id is a keyed hash of the challenge.
type UsedChallenge struct{ ent.Schema }

func (UsedChallenge) Annotations() []schema.Annotation {
	return table("used_challenges", aboutStaff(privacy.Expiry))
}

func (UsedChallenge) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").Annotations(hashed(secret)).MaxRuneLen(64).Immutable(),
		moment("ends_at"),
	}
}

func (UsedChallenge) Indexes() []ent.Index { return []ent.Index{index.Fields("ends_at")} }
