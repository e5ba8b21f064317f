package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Token is a credential of a partner, a script, a member of staff or an operator.
type Token struct{ ent.Schema }

func (Token) Annotations() []schema.Annotation { return table("tokens") }

func (Token) Fields() []ent.Field {
	return []ent.Field{

		id(),
		field.String("kind").MaxRuneLen(16).Immutable().Comment("client, access, apiKey, operator or staff."),
		field.Bytes("mac").Immutable().Unique().Comment("Keyed hash. The token itself is shown once and not kept."),
		field.String("hint").MaxRuneLen(16).Immutable(),
		field.String("name").MaxRuneLen(255).Default(""),
		field.String("property_id").MaxRuneLen(40).Optional().Immutable(),
		field.String("integration_id").MaxRuneLen(40).Optional().Immutable(),
		field.String("app_id").MaxRuneLen(40).Optional().Immutable(),
		field.String("role").MaxRuneLen(16).Default("").Immutable(),
		maybe("expires_at"),
		maybe("revoked_at"),
		created(),
	}
}

func (Token) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "kind"), index.Fields("integration_id", "kind"), index.Fields("app_id", "kind"),
	}
}
