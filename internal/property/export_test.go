package property

// Unindexed are the statements that delete rows that no index finds by property.
var Unindexed = unindexed
