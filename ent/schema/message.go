package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Message is one message between a guest and the property. All messages of a guest form a conversation.
type Message struct{ ent.Schema }

func (Message) Annotations() []schema.Annotation {
	return table("messages", aboutGuests(privacy.Erasure, privacy.Stay))
}

func (Message) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("reservation_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("guest_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.Int("number").Annotations(row).Immutable().Comment("The place in the conversation, from 1, without gaps. After the deletion of a conversation it continues."),
		field.String("sender").Annotations(pseudonym).MaxRuneLen(16).Immutable().Comment("guest or property."),
		field.String("author").Annotations(plain("Colleagues must know who wrote.")).MaxRuneLen(100).Default("").Immutable().Comment("The name of the member of staff who wrote it."),
		field.Bytes("text").Annotations(sealed(personal)).Immutable().Comment("Sealed with the property's key."),
		maybe("read_at"),
		field.Bool("mailed").Annotations(pseudonym).Default(false).Comment("A mail announced it to the other side."),
		created(),
	}
}

func (Message) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("guest_id", "number").Unique(),
		index.Fields("property_id", "created_at"),
		index.Fields("property_id", "guest_id").StorageKey("message_unread").Annotations(entsql.IndexWhere("read_at IS NULL AND sender = 'guest'")),
		index.Fields("created_at").Annotations(entsql.IndexWhere("read_at IS NULL AND NOT mailed")),
	}
}
