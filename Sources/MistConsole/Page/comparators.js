// Filters as one builds or types them, and the forms in which a query can be taken elsewhere: JSON, Swift, a command.

import { elementType, isList, readElement, typeOf } from './values.js'
import { writeJSON } from './service.js'

/**
 * @typedef {object} Comparator
 * @property {string} name The protocol's.
 * @property {string} [sign]
 * @property {string} words
 * @property {string} swift The case of `QueryFilter.Comparator`.
 * @property {'value' | 'values' | 'element' | 'elements' | 'text' | 'words' | 'area'} operand
 * @property {string} index
 */

/** @type {Comparator[]} */
export const comparators = [
  { name: 'EQUALS', sign: '==', words: 'is', swift: 'equals', operand: 'value', index: 'QUERYABLE' },
  { name: 'NOT_EQUALS', sign: '!=', words: 'is not', swift: 'notEquals', operand: 'value', index: 'QUERYABLE' },
  { name: 'LESS_THAN', sign: '<', words: 'is less than', swift: 'lessThan', operand: 'value', index: 'SORTABLE' },
  { name: 'LESS_THAN_OR_EQUALS', sign: '<=', words: 'is at most', swift: 'lessThanOrEquals', operand: 'value', index: 'SORTABLE' },
  { name: 'GREATER_THAN', sign: '>', words: 'is more than', swift: 'greaterThan', operand: 'value', index: 'SORTABLE' },
  { name: 'GREATER_THAN_OR_EQUALS', sign: '>=', words: 'is at least', swift: 'greaterThanOrEquals', operand: 'value', index: 'SORTABLE' },
  { name: 'IN', words: 'is one of', swift: 'in', operand: 'values', index: 'QUERYABLE' },
  { name: 'NOT_IN', words: 'is none of', swift: 'notIn', operand: 'values', index: 'QUERYABLE' },
  { name: 'BEGINS_WITH', words: 'begins with', swift: 'beginsWith', operand: 'text', index: 'QUERYABLE' },
  { name: 'NOT_BEGINS_WITH', words: 'does not begin with', swift: 'notBeginsWith', operand: 'text', index: 'QUERYABLE' },
  { name: 'CONTAINS_ALL_TOKENS', words: 'has all words of', swift: 'containsAllTokens', operand: 'words', index: 'SEARCHABLE' },
  { name: 'CONTAINS_ANY_TOKENS', words: 'has a word of', swift: 'containsAnyTokens', operand: 'words', index: 'SEARCHABLE' },
  { name: 'NEAR', words: 'is near', swift: 'near', operand: 'area', index: 'QUERYABLE' },
  { name: 'LIST_CONTAINS', words: 'has', swift: 'listContains', operand: 'element', index: 'QUERYABLE' },
  { name: 'NOT_LIST_CONTAINS', words: 'has not', swift: 'notListContains', operand: 'element', index: 'QUERYABLE' },
  { name: 'LIST_CONTAINS_ANY', words: 'has one of', swift: 'listContainsAny', operand: 'elements', index: 'QUERYABLE' },
  { name: 'NOT_LIST_CONTAINS_ANY', words: 'has none of', swift: 'notListContainsAny', operand: 'elements', index: 'QUERYABLE' },
  { name: 'LIST_CONTAINS_ALL', words: 'has all of', swift: 'listContainsAll', operand: 'elements', index: 'QUERYABLE' },
  { name: 'NOT_LIST_CONTAINS_ALL', words: 'lacks one of', swift: 'notListContainsAll', operand: 'elements', index: 'QUERYABLE' },
  { name: 'LIST_MEMBER_BEGINS_WITH', words: 'has a text that begins with', swift: 'listMemberBeginsWith', operand: 'text', index: 'QUERYABLE' },
  { name: 'NOT_LIST_MEMBER_BEGINS_WITH', words: 'has no text that begins with', swift: 'notListMemberBeginsWith', operand: 'text', index: 'QUERYABLE' },
]

/** @param {string} name */
export const comparator = name => comparators.find(known => known.name === name)

/** The system fields, by the names that people type. */
export const systemFields = {
  '@recordName': { name: 'recordName', type: 'REFERENCE' }, '@created': { name: 'createdTimestamp', type: 'TIMESTAMP' }, '@modified': { name: 'modifiedTimestamp', type: 'TIMESTAMP' },
  '@createdBy': { name: 'createdUserRecordName', type: 'REFERENCE' }, '@modifiedBy': { name: 'modifiedUserRecordName', type: 'REFERENCE' },
  '@parent': { name: 'parent', type: 'REFERENCE' }, '@share': { name: 'share', type: 'REFERENCE' },
}

/**
 * Which comparators a field of a type can have.
 * @param {string} type @returns {Comparator[]}
 */
export function comparatorsFor(type) {
  const element = elementType(type)
  if (element === 'ASSETID') return []
  if (isList(type)) return comparators.filter(({ name, operand }) => operand === 'element' || operand === 'elements' || (name.includes('LIST_MEMBER') && element === 'STRING'))
  return comparators.filter(({ name, operand }) => {
    if (operand === 'area') return element === 'LOCATION'
    if (element === 'LOCATION' || operand === 'element' || operand === 'elements' || name.includes('LIST')) return false
    if (operand === 'text' || operand === 'words') return element === 'STRING'
    if (/LESS|GREATER/.test(name)) return !['REFERENCE', 'BYTES'].includes(element)
    return true
  })
}

/** @typedef {{ field: string, type?: string, comparator: Comparator, value: string, quoted: boolean }} Condition */

/**
 * Reads a condition as `mistkit records query --filter` takes it: `rating > 3`, `title BEGINS_WITH He`.
 * @param {string} text @returns {Condition}
 * @throws {TypeError} Says what is missing.
 */
export function readCondition(text) {
  const trimmed = text.trim()
  let field = '', found, value = ''
  const words = /^(\S+)\s+(\S+)\s*([\s\S]*)$/.exec(trimmed)
  if (words) {
    found = comparators.find(({ name, sign }) => name === words[2].toUpperCase() || sign === words[2]) ?? (words[2] === '=' ? comparators[0] : undefined)
    if (found) { field = words[1]; value = words[3] }
    else if (/^[a-z_]+$/i.test(words[2]) && !/[=!<>]/.test(words[1])) throw new TypeError(`There is no comparator ${words[2]}.`)
  }
  if (!found) {
    const match = /^([^=!<>\s]+)\s*(==|!=|<=|>=|<|>|=)\s*([\s\S]*)$/.exec(trimmed)
    if (!match) throw new TypeError('Write it as: field == value, title BEGINS_WITH He, or place NEAR 59.9,10.7 within 5000.')
    field = match[1]; value = match[3]
    found = comparators.find(({ sign }) => sign === (match[2] === '=' ? '==' : match[2]))
  }
  const quoted = /^"[\s\S]*"$|^'[\s\S]*'$/.test(value) && value.length > 1
  const [name, type] = field.split(':')
  if (type && !/^[A-Z0-9_]+$/i.test(type)) throw new TypeError(`There is no type ${type}.`)
  return { field: name, type: type?.toUpperCase(), comparator: /** @type {Comparator} */ (found), value: quoted ? value.slice(1, -1) : value.trim(), quoted }
}

/**
 * The text of a condition.
 * @param {Condition} condition
 */
export function writeCondition({ field, type, comparator, value, quoted }) {
  return `${field}${type ? ':' + type : ''} ${comparator.sign ?? comparator.name} ${quoted ? `"${value}"` : value}`
}

/**
 * The type of a value that nothing else tells.
 * @param {string} text
 */
const inferred = text => /^-?(0|[1-9]\d*)$/.test(text) ? 'INT64' : text !== '' && /^-?\d+\.\d+$/.test(text) ? 'DOUBLE' : 'STRING'

/**
 * A condition as a filter of a query.
 * @param {Condition} condition @param {(field: string) => string | undefined} typeOfField The field's type in the schema, such as `INT64` or `STRING_LIST`.
 * @returns {any}
 */
export function filterOf(condition, typeOfField) {
  const { field, comparator: { name, operand }, value, quoted } = condition
  const system = systemFields[field]
  if (field.startsWith('@') && !system) throw new TypeError(`There is no system field ${field}; they are ${Object.keys(systemFields).join(', ')}.`)
  const where = system ? { systemFieldName: system.name } : { fieldName: field }
  if (operand === 'area') {
    const [place, metres] = value.split(/\s+within\s+/i)
    if (!(Number(metres) > 0)) throw new TypeError(`Say how near: ${field} NEAR latitude,longitude within metres.`)
    return { ...where, comparator: name, fieldValue: { value: readElement(place, 'LOCATION'), type: 'LOCATION' }, distance: Number(metres) }
  }
  const declared = condition.type ?? (quoted ? 'STRING' : system?.type ?? typeOfField(field))
  const element = operand === 'text' || operand === 'words' ? 'STRING' : declared && elementType(declared)
  const isMany = operand === 'values' || operand === 'elements'
  const items = isMany ? value.split(',').map(item => item.trim()).filter(Boolean) : [value]
  const type = element ?? (items.every(item => inferred(item) === 'INT64') ? 'INT64' : isMany ? 'STRING' : inferred(value))
  const read = items.map(item => {
    const result = readElement(item, type)
    return type === 'REFERENCE' ? { recordName: result.recordName } : result
  })
  return { ...where, comparator: name, fieldValue: { value: isMany ? read : read[0], type: isMany ? `${type}_LIST` : type } }
}

/**
 * A sort as one types it: `field` or `-field`.
 * @param {string} text
 */
export function sortOf(text) {
  const ascending = !text.startsWith('-')
  const name = ascending ? text : text.slice(1)
  const system = systemFields[name]
  return { ...(system ? { systemFieldName: system.name } : { fieldName: name }), ascending }
}

/**
 * The query of the page.
 * @param {string} recordType @param {string[]} filters @param {string[]} sorts @param {(field: string) => string | undefined} typeOfField
 */
export function queryOf(recordType, filters, sorts, typeOfField) {
  const filterBy = filters.map(text => filterOf(readCondition(text), typeOfField))
  const sortBy = sorts.map(sortOf)
  return { recordType, ...(filterBy.length ? { filterBy } : {}), ...(sortBy.length ? { sortBy } : {}) }
}

/** @param {string} text */
export const quoteShell = text => /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
/** @param {string} text */
const quoteSwift = text => JSON.stringify(text).replaceAll('\\u', '\\u{').replace(/\\u\{([0-9a-f]{4})/g, '\\u{$1}').replaceAll('\\/', '/')

/** @param {any} value @param {string} type */
function swiftValue(value, type) {
  if (Array.isArray(value)) return `.list([${value.map(item => swiftValue(item, elementType(type))).join(', ')}])`
  switch (type) {
    case 'INT64': return String(value)
    case 'DOUBLE': return Number.isInteger(value) ? `${value}.0` : String(value)
    case 'TIMESTAMP': return `.timestamp(Date(timeIntervalSince1970: ${Number(value) / 1000}))`
    case 'REFERENCE': return `.reference(Reference(recordName: ${quoteSwift(value.recordName)}))`
    case 'BYTES': return `.bytes(Data(base64Encoded: ${quoteSwift(value)})!)`
    case 'LOCATION': return `.location(Location(latitude: ${value.latitude}, longitude: ${value.longitude}))`
    default: return quoteSwift(String(value))
  }
}

/** @param {any} item */
const swiftName = item => item.systemFieldName ? `.${item.systemFieldName}` : quoteSwift(item.fieldName)

/**
 * The query in Swift.
 * @param {any} query @param {import('./address.js').View} view
 */
export function swiftOf(query, view) {
  const filters = (query.filterBy ?? []).map(filter => {
    const value = filter.fieldValue
    if (filter.comparator === 'NEAR') return `        Filter(${swiftName(filter)}, within: .metres(${filter.distance}), of: Location(latitude: ${value.value.latitude}, longitude: ${value.value.longitude})),`
    return `        Filter(${swiftName(filter)}, .${comparator(filter.comparator)?.swift}, ${swiftValue(value.value, value.type)}),`
  })
  const sorts = (query.sortBy ?? []).map(sort => `        Sort(${swiftName(sort)}${sort.ascending ? '' : ', ascending: false'}),`)
  const parts = [`    recordType: ${quoteSwift(query.recordType)}`]
  if (filters.length) parts.push(`    filters: [\n${filters.join('\n')}\n    ]`)
  if (sorts.length) parts.push(`    sorts: [\n${sorts.join('\n')}\n    ]`)
  const where = view.scope === 'public' ? '' : view.zone && view.zone !== '*'
    ? `, inZone: ZoneID(zoneName: ${quoteSwift(view.zone)}${view.owner ? `, ownerRecordName: ${quoteSwift(view.owner)}` : ''})` : ', zoneWide: true'
  return `let query = Query(\n${parts.join(',\n')}\n)\nfor try await record in service.${view.scope}Database.records(matching: query${where}) {\n    print(record)\n}\n`
}

/**
 * The options that name the database.
 * @param {import('./address.js').View} view
 */
export function placeOptions(view) {
  const words = ['--container', view.container, '--environment', view.environment, '--database', view.scope]
  if (view.scope !== 'public') words.push(...(view.zone && view.zone !== '*' ? ['--zone', view.zone] : ['--zone-wide']))
  if (view.owner) words.push('--zone-owner', view.owner)
  if (view.as && view.as !== 'nobody' && view.as !== 'server') words.push('--as', view.as)
  return words
}

/**
 * The query as a command.
 * @param {import('./address.js').View} view @param {any} query
 */
export function commandOf(view, query) {
  const words = ['mistkit', 'records', 'query', view.item]
  view.filter.forEach((text, index) => {
    const condition = readCondition(text), value = query.filterBy[index].fieldValue
    // The command knows no schema, so it is told a type that the text alone does not show.
    const type = condition.type ?? (condition.field.startsWith('@') || condition.quoted || condition.comparator.operand === 'area' || typeOf(value.value) === value.type ? undefined : value.type)
    const isText = value.type === 'STRING' && inferred(condition.value) !== 'STRING'
    words.push('--filter', writeCondition({ ...condition, type: isText ? undefined : type, quoted: condition.quoted || isText }))
  })
  for (const sort of view.sort) words.push(sort.startsWith('-') ? `--sort=${sort}` : '--sort', ...(sort.startsWith('-') ? [] : [sort]))
  return [...words, ...placeOptions(view)].map(quoteShell).join(' ')
}

/** @param {any} query @param {import('./service.js').ZoneID | undefined} zone */
export const jsonOf = (query, zone) => writeJSON({ ...(zone ? { zoneID: zone } : { zoneWide: true }), query }, 2)

