package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Issuer is the state of a property's issuer of SmartKeys, without its keys. Its id is the property's.
type Issuer struct{ ent.Schema }

func (Issuer) Annotations() []schema.Annotation { return table("issuers", aboutThings()) }

func (Issuer) Fields() []ent.Field {
	return []ent.Field{

		id(),
		field.Int64("generation").Annotations(none).Default(1).Comment("The generation that new tokens have. It only grows."),
		field.Int64("next_number").Annotations(none).Default(0).Comment("The next index of the status list to try."),
		field.Int64("list_number").Annotations(none).Default(0),
		field.Bytes("list").Annotations(pseudonym).Optional().Comment("The status list, signed."),
		field.String("list_key").Annotations(none).MaxRuneLen(16).Default("").Comment("The id of the key that signed it."),
		field.Bytes("list_digest").Annotations(none).Optional().Comment("The digest of the content of the list."),
		moment("list_at"),
		field.Int64("key_set_version").Annotations(none).Default(0),
		moment("key_set_at"),
		field.Int64("least_version").Annotations(none).Default(0).Comment("The oldest key set whose tokens are valid. It grows when a key is replaced at once."),
		created(),
	}
}

// IssuerKey is one key of an issuer. The private half is sealed, and deleted when it is no longer used.
type IssuerKey struct{ ent.Schema }

func (IssuerKey) Annotations() []schema.Annotation {
	return table("issuer_keys", aboutThings(privacy.Superseded))
}

func (IssuerKey) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("key_id").Annotations(row).MaxRuneLen(16).Immutable().Comment("The id of the key in signed documents, in hexadecimal."),
		field.Bytes("sealed").Annotations(sealed(secret)).Optional(),
		created(),
	}
}

func (IssuerKey) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id", "key_id").Unique()}
}

// KeySet is one signed version of a property's issuer keys. All versions are kept, because each verifies the next.
type KeySet struct{ ent.Schema }

func (KeySet) Annotations() []schema.Annotation { return table("key_sets", aboutThings()) }

func (KeySet) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.Int64("version").Annotations(none).Immutable(),
		field.Bytes("signed").Annotations(none).Immutable(),
		created(),
	}
}

func (KeySet) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id", "version").Unique()}
}
