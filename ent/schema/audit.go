package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// AuditEntry records one call that changed or revealed something at a property, or tried to. Entries of a property form a chain: each has the
// hash of the one before.
type AuditEntry struct{ ent.Schema }

func (AuditEntry) Annotations() []schema.Annotation {
	return table("audit_entries", aboutStaff(privacy.Audit))
}

func (AuditEntry) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.Int64("seq").Annotations(none).Immutable().Comment("1, 2, 3, ... without gaps."),
		field.Time("at").Annotations(row).Immutable().SchemaType(momentType),
		field.String("actor").Annotations(pseudonym).MaxRuneLen(120).Immutable().Comment("Kind and id of who called."),
		field.String("action").Annotations(pseudonym).MaxRuneLen(120).Immutable().Comment("The full name of the RPC."),
		field.JSON("subjects", []string{}).Annotations(pseudonym).Immutable().Comment("Ids that the request and the answer name."),
		field.String("from_address").Annotations(plain("It answers who did it, also when the key of the property is lost.")).MaxRuneLen(64).Immutable().Default(""),
		field.String("reason").Annotations(plain("It answers who did it, also when the key of the property is lost.")).MaxRuneLen(500).Immutable().Default("").Comment("What the caller gave as reason."),
		field.String("outcome").Annotations(pseudonym).MaxRuneLen(8).Immutable().Comment("done, refused or failed."),
		field.Bytes("previous").Annotations(none).Immutable().Comment("The hash of the entry before."),
		field.Bytes("hash").Annotations(none).Immutable().Comment("Keyed hash of the columns above."),
	}
}

func (AuditEntry) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id", "seq").Unique()}
}

// AuditHead is the end of a property's chain, and where it begins since old entries were deleted. Its id is the property's.
type AuditHead struct{ ent.Schema }

func (AuditHead) Annotations() []schema.Annotation { return table("audit_heads", aboutThings()) }

func (AuditHead) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.Int64("seq").Annotations(none).Comment("The number of the last entry."),
		field.Bytes("hash").Annotations(none).Comment("The hash of the last entry."),
		field.Int64("cut").Annotations(none).Default(0).Comment("The last entry that was deleted because of its age; 0: none."),
		field.Bytes("cut_hash").Annotations(none).Comment("The hash of that entry."),
		field.Bytes("mac").Annotations(none).Comment("Keyed hash of the columns above. Empty: the row was damaged once."),
	}
}

func (AuditHead) Indexes() []ent.Index { return []ent.Index{index.Fields("property_id")} }
