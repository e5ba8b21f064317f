package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Tombstone records that a reservation was removed after its retention period, without its ids or personal data. A late change of
// the PMS finds it and does not create the reservation again.
type Tombstone struct{ ent.Schema }

func (Tombstone) Annotations() []schema.Annotation {
	return table("tombstones", aboutGuests(privacy.ThreeYears).Keeps("a keyed hash keeps a late change out"))
}

func (Tombstone) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Annotations(row),
		property(),
		field.Bytes("mac").Annotations(hashed(privacy.Pseudonym)).Immutable().Unique().Comment("Keyed hash of the integration and the PMS's id."),
		field.Time("pms_updated_at").Annotations(row).Immutable().SchemaType(momentType).Comment("pmsMeta.updatedAt of the last change; if the PMS sent none, when the change was stored."),
		created(),
	}
}

func (Tombstone) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id"), index.Fields("created_at")}
}
