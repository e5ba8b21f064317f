package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Token is a credential of a partner, a script, a member of staff or an operator.
type Token struct{ ent.Schema }

func (Token) Annotations() []schema.Annotation { return table("tokens", aboutStaff(privacy.Expiry)) }

func (Token) Fields() []ent.Field {
	return []ent.Field{

		id(),
		field.String("kind").Annotations(pseudonym).MaxRuneLen(16).Immutable().Comment("client, access, apiKey, operator, session (of an operator) or staff."),
		field.Bytes("mac").Annotations(hashed(secret)).Immutable().Unique().Comment("Keyed hash of the token, which is shown once and not stored."),
		field.String("hint").Annotations(pseudonym).MaxRuneLen(16).Immutable(),
		field.String("name").Annotations(plain("Staff choose the name, such as a first name or a trade.")).MaxRuneLen(255).Default(""),
		field.String("property_id").Annotations(row).MaxRuneLen(40).Optional().Immutable(),
		field.String("integration_id").Annotations(row).MaxRuneLen(40).Optional().Immutable(),
		field.String("app_id").Annotations(row).MaxRuneLen(40).Optional().Immutable(),
		field.String("parent_id").Annotations(row).MaxRuneLen(40).Optional().Immutable().Comment("The operator token that a session was opened with. NULL: no session."),
		field.String("role").Annotations(pseudonym).MaxRuneLen(16).Default("").Immutable(),
		maybe("expires_at"),
		maybe("revoked_at"),
		created(),
	}
}

func (Token) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "kind"), index.Fields("integration_id", "kind"), index.Fields("app_id", "kind"),
		index.Fields("parent_id"),
	}
}
