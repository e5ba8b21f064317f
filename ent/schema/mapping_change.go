package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// MappedSpace is what a space of a partner is mapped to.
type MappedSpace struct {
	SpaceID string `json:"spaceId"`
	Name    string `json:"name"` // Name and Type are those of the partner's space when it was mapped
	Type    string `json:"type"`
	Room    string `json:"room,omitempty"` // Room is the partner's room of a bed when it was mapped
}

// ChangedMapping is what a change did to the mapping of one of the partner's spaces. Before and After are nil where it was not mapped.
type ChangedMapping struct {
	ExternalID string       `json:"externalId"`
	Before     *MappedSpace `json:"before,omitempty"`
	After      *MappedSpace `json:"after,omitempty"`
}

// MappingChange is a change of an integration's mapping by a person, which can be undone.
type MappingChange struct{ ent.Schema }

func (MappingChange) Annotations() []schema.Annotation {
	return table("mapping_changes", aboutThings(privacy.Events))
}

func (MappingChange) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("integration_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("kind").Annotations(none).MaxRuneLen(16).Immutable().Comment("set, unset, batch, suggestions, create, cure or undo."),
		field.String("author").Annotations(pseudonym).MaxRuneLen(120).Immutable().Comment("Kind and id of who made it."),
		field.JSON("rows", []ChangedMapping{}).Annotations(none).Immutable(),
		field.String("undoes").Annotations(none).MaxRuneLen(40).Default("").Immutable().Comment("The change that it undid, or empty."),
		field.String("undone_by").Annotations(none).MaxRuneLen(40).Default("").Comment("The change that undid it, or empty."),
		created(),
	}
}

func (MappingChange) Indexes() []ent.Index {
	return []ent.Index{index.Fields("integration_id", "id"), index.Fields("created_at")}
}
