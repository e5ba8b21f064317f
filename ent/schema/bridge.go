package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Bridge is an agent on site that drives locks.
type Bridge struct{ ent.Schema }

func (Bridge) Annotations() []schema.Annotation {
	return table("bridges", aboutThings(privacy.Deletion))
}

func (Bridge) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("name").Annotations(none).MaxRuneLen(255),
		field.Bytes("join_mac").Annotations(hashed(secret)).Optional().Nillable().Unique(),
		maybe("join_expires_at"),
		maybe("enrolled_at"),
		maybe("revoked_at"),
		field.Bytes("hpke_key").Annotations(none).Optional(),
		field.Bytes("certificate_key").Annotations(none).Optional().Comment("SHA-256 of the public key of the certificate."),
		field.Bytes("previous_key").Annotations(none).Optional().Comment("certificate_key of the previous certificate, which is good until the bridge first connects with the new one."),
		maybe("certificate_expires_at"),
		field.Int64("epoch").Annotations(none).Default(0),
		field.String("boot_id").Annotations(row).MaxRuneLen(64).Default(""),
		field.String("software").Annotations(none).MaxRuneLen(128).Default(""),
		field.Bool("online").Annotations(none).Default(false),
		field.String("node").Annotations(none).MaxRuneLen(64).Default(""),
		field.String("offline_reason").Annotations(none).MaxRuneLen(64).Default("neverConnected"),
		maybe("last_seen_at"),
		field.Int64("clock_offset_ms").Annotations(none).Default(0),
		field.Int64("event_sequence").Annotations(none).Default(0).Comment("The number of the last event of the bridge that was stored."),
		field.Int64("key_set_version").Annotations(none).Optional().Nillable().Comment("The version of the issuer keys that the bridge reported as pinned; -1: it does not support SmartKeys."),
		field.Int64("key_list_number").Annotations(none).Default(0).Comment("The number of the status list that the bridge reported."),
		maybe("link_at"),
		maybe("unreached_at"),
		maybe("reached_at"),
		maybe("offline_notified_at"),
		created(),
	}
}

func (Bridge) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "id"),
		index.Fields("unreached_at").Annotations(entsql.IndexWhere("unreached_at IS NOT NULL")),
	}
}
