// Package repair makes a data directory that opens of one that is damaged. Tables of the database are read block by
// block and its logs record by record; what can be read becomes a new database. What the rows in it say is repaired by
// Repair, and what they lack is read again from captures by importer.Repair, which begins here. Verify says what is
// wrong.
package repair
