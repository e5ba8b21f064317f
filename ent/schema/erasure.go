package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Erasure is a request to erase the data of a stay's guests, and the proof that it was done. It holds no personal data and outlives the stay.
type Erasure struct{ ent.Schema }

func (Erasure) Annotations() []schema.Annotation {
	return table("erasures", aboutGuests(privacy.ThreeYears).Keeps("it is the proof of the erasure"))
}

func (Erasure) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("reservation_id").Annotations(row).MaxRuneLen(40).Immutable().Comment("The reservation may be removed."),
		field.String("guest_id").Annotations(row).MaxRuneLen(40).Default("").Immutable().Comment("The companion whose data is erased; empty: the whole party and the booker."),
		field.String("requested_by").Annotations(plain("The name of a member of staff, for the proof.")).MaxRuneLen(100).Immutable().Comment("guest, or the name of the staff credential."),
		field.Bytes("mac").Annotations(hashed(secret)).Immutable().Unique().Comment("Keyed hash of the receipt, which shows how far the erasure is."),
		field.String("mail_id").Annotations(row).MaxRuneLen(40).Default("").Comment("The mail that confirms the request. It is erased with the rest."),
		maybe("confirmed_at"), // when the mail was ordered, or no address was found for it
		maybe("finished_at"),
		field.String("law").Annotations(pseudonym).MaxRuneLen(8).Default("").Comment("The country rule under which official forms are kept; empty: none are."),
		maybe("kept_until"), // when the last of them is erased
		field.Bool("keep_profile").Annotations(pseudonym).Optional().Comment("The guest keeps what the property knows for the next stay. NULL: false."),
		created(),
	}
}

func (Erasure) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "id"),
		index.Fields("reservation_id", "guest_id").Unique().Annotations(entsql.IndexWhere("finished_at IS NULL")),
		index.Fields("finished_at"),
	}
}
