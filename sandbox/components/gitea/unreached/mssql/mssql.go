// Package mssql is imported for the driver that it registers, which is not here: the
// database is SQLite.
package mssql
