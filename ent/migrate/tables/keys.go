package tables

import "entgo.io/ent/dialect/sql/schema"

// Some rows have the id of their owner. ent knows no edge by an id, so that their foreign keys are declared here.
func init() {
	sharesID(ArrivalsTable, ReservationsTable, schema.Cascade)
	sharesID(DoorRulesTable, LocksTable, schema.Cascade)
	sharesID(IssuersTable, PropertiesTable, schema.NoAction)
}

// sharesID adds the foreign key of a table whose ids are those of its owners.
func sharesID(table, owner *schema.Table, rule schema.ReferenceOption) {
	table.ForeignKeys = append(table.ForeignKeys, &schema.ForeignKey{
		Symbol: table.Name + "_" + owner.Name + "_id", Columns: table.PrimaryKey, RefTable: owner, RefColumns: owner.PrimaryKey, OnDelete: rule,
	})
}
