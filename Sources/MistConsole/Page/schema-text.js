// Apple's schema language, read for the tables of the page and written back after an edit.

/**
 * @typedef {object} SchemaField
 * @property {string} name
 * @property {string} type As in the schema language: `STRING`, `LIST<STRING>`, `ENCRYPTED STRING`, `NUMBER PREFERRED AS INT64`.
 * @property {string[]} indexes `QUERYABLE`, `SORTABLE`, `SEARCHABLE`
 */
/** @typedef {{ role: string, permissions: string[] }} Grant */
/** @typedef {{ name: string, fields: SchemaField[], grants: Grant[] }} SchemaType */
/** @typedef {{ types: SchemaType[], roles: string[] }} Schema */

/** The fields that every record has, by the names of schemas. */
export const systemColumns = {
  ___createTime: '@created', ___createdBy: '@createdBy', ___modTime: '@modified', ___modifiedBy: '@modifiedBy', ___recordID: '@recordName', ___parent: '@parent', ___share: '@share', ___etag: '',
}

/**
 * The type of the protocol.
 * @param {string} type Of the schema language.
 */
export function protocolType(type) {
  const plain = type.replace(/^ENCRYPTED\s+/, '')
  const list = /^LIST\s*<\s*(.+?)\s*>$/.exec(plain)
  if (list) return `${protocolType(list[1])}_LIST`
  if (plain === 'ASSET') return 'ASSETID'
  if (plain.startsWith('NUMBER')) return plain.endsWith('DOUBLE') ? 'DOUBLE' : 'INT64'
  return plain
}

/** @param {string} text @returns {Schema} */
export function readSchema(text) {
  const tokens = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*|--.*/g, ' ').match(/"[^"]*"|[A-Za-z_][A-Za-z0-9_.]*|[(),;<>]/g) ?? []
  let next = 0
  const peek = () => tokens[next]?.toUpperCase()
  const take = () => tokens[next++] ?? ''
  const name = () => take().replace(/^"|"$/g, '')
  /** @type {Schema} */
  const schema = { types: [], roles: [] }
  if (peek() === 'DEFINE') next += 2
  while (next < tokens.length) {
    if (peek() === 'CREATE') { next += 2; schema.roles.push(name()) }
    else if (peek() === 'RECORD') {
      next += 2
      /** @type {SchemaType} */
      const type = { name: name(), fields: [], grants: [] }
      take()
      while (next < tokens.length && peek() !== ')') {
        if (peek() === ',') { take(); continue }
        if (peek() === 'GRANT') {
          take()
          const permissions = []
          while (next < tokens.length && peek() !== 'TO') { const word = take(); if (word !== ',') permissions.push(word.toUpperCase()) }
          take()
          const role = name(), known = type.grants.find(grant => grant.role === role)
          if (known) known.permissions.push(...permissions)
          else type.grants.push({ role, permissions })
          continue
        }
        const field = { name: name(), type: '', indexes: /** @type {string[]} */ ([]) }
        const words = []
        while (next < tokens.length && peek() !== ',' && peek() !== ')') {
          const word = take().toUpperCase()
          if (['QUERYABLE', 'SORTABLE', 'SEARCHABLE'].includes(word)) field.indexes.push(word)
          else words.push(word)
        }
        field.type = words.join(' ').replace(/ ?([<>]) ?/g, '$1')
        type.fields.push(field)
      }
      take()
      schema.types.push(type)
    } else take()
  }
  return schema
}

const reserved = new Set(['grant', 'preferred', 'queryable', 'sortable', 'searchable'])
/** @param {string} name */
const quoted = name => /^[A-Za-z]\w*$/.test(name) && !reserved.has(name.toLowerCase()) ? name : `"${name}"`

/** @param {Schema} schema */
export function writeSchema(schema) {
  const parts = schema.roles.map(role => `    CREATE ROLE ${quoted(role)};`)
  for (const type of schema.types) {
    const width = Math.max(0, ...type.fields.map(field => quoted(field.name).length))
    const lines = type.fields.map(field => `        ${quoted(field.name).padEnd(width)} ${[field.type, ...field.indexes].join(' ')}`)
    for (const grant of type.grants) if (grant.permissions.length) lines.push(`        GRANT ${grant.permissions.join(', ')} TO "${grant.role}"`)
    parts.push(`    RECORD TYPE ${quoted(type.name)} (\n${lines.join(',\n')}\n    );`)
  }
  return `DEFINE SCHEMA\n\n${parts.join('\n\n')}\n`
}

/**
 * The fields that an app defines.
 * @param {SchemaType | undefined} type
 */
export const ownFields = type => type?.fields.filter(field => !field.name.startsWith('___')) ?? []
