package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Tombstone records that a reservation was removed after its retention period, without its ids or personal data. A late change of
// the PMS finds it and does not create the reservation again.
type Tombstone struct{ ent.Schema }

func (Tombstone) Annotations() []schema.Annotation { return table("tombstones") }

func (Tombstone) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		property(),
		field.Bytes("mac").Immutable().Unique().Comment("Keyed hash of the integration and the PMS's id."),
		field.Time("pms_updated_at").Immutable().SchemaType(momentType).Comment("pmsMeta.updatedAt of the last change; if the PMS sent none, when the change was stored."),
		created(),
	}
}

func (Tombstone) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id"), index.Fields("created_at")}
}
