// Shares: who takes part, with which permission, and what a link leads to.

import { show, view } from './address.js'
import { button, copyButton, fill, h, icon } from './dom.js'
import { ask, askForm, labelled, menuButton, openDialog, say } from './dialogs.js'
import { whileShown } from './events.js'
import { recordLink } from './record.js'
import { refusalView } from './refusals.js'
import { actingUser, identityName, session, userName } from './session.js'
import { call, lookup, modify, query, refusalOf, zones } from './service.js'

const permissions = /** @type {[string, string][]} */ ([['READ_ONLY', 'may read'], ['READ_WRITE', 'may read and write']])
const publicPermissions = /** @type {[string, string][]} */ ([['NONE', 'nothing without an invitation'], ['READ_ONLY', 'read'], ['READ_WRITE', 'read and write']])
const options = (list, chosen) => list.map(([value, text]) => h('option', { value, selected: value === chosen }, text))

/** @param {any} participant */
function personName(participant) {
  const { userIdentity: identity = {} } = participant
  const name = [identity.nameComponents?.givenName, identity.nameComponents?.familyName].filter(Boolean).join(' ')
  return name || identity.lookupInfo?.emailAddress || identity.lookupInfo?.phoneNumber || userName(identity.userRecordName) || 'someone'
}

/**
 * The short identifier that a link or a text has.
 * @param {string} text
 */
const shortGUIDOf = text => text.trim().replace(/[#?].*$/, '').split('/').filter(Boolean).pop() ?? ''

/** @param {string} person An e-mail address, a number or a user record name. @param {string} permission */
function invitation(person, permission) {
  const text = person.trim()
  return { type: 'USER', permission, acceptanceStatus: 'INVITED', userIdentity: { lookupInfo: text.includes('@') ? { emailAddress: text } : text.startsWith('_') ? { userRecordName: text } : { phoneNumber: text } } }
}

/** @param {string} path @param {string} shortGUID @param {string} [as] */
async function shareRequest(path, shortGUID, as = view.as) {
  const reply = await call(path, { shortGUIDs: [{ value: shortGUID, shouldFetchRootRecord: true }] }, { scope: 'public', as })
  const result = reply.results[0]
  if (result.serverErrorCode) throw refusalOf(result, path)
  return result
}

export async function sharesSection() {
  const place = h('div', { class: 'section-body' })
  const element = h('section', { class: 'section' }, h('div', { class: 'section-head' }, h('h1', null, 'Shares'), h('span', { class: 'badge' }, view.scope === 'shared' ? 'shared with this user' : 'of this user'), h('span', { class: 'space' }),
    button('Open a link', openLink, { icon: 'link', kind: 'named' }), view.scope === 'private' && !session.readOnly && button('Share a record', () => shareRecord(''), { icon: 'plus', kind: 'primary' })), place)

  async function read() {
    if (view.scope === 'public') { fill(place, h('div', { class: 'empty' }, icon('shares'), h('h2', null, 'The public database has no shares'), button('Show those of the private database', () => show({ scope: 'private' })))); return }
    try {
      // Where no one has shared anything yet, the service knows no such type.
      const { records } = await query({ recordType: 'cloudkit.share' }).catch(error => { if (/Did not find record type/.test(error.reason)) return { records: [] }; throw error })
      const chosen = records.find(share => share.recordName === view.item)
      if (view.item && !chosen && view.scope === 'private' && !view.item.startsWith('Share-')) { const name = view.item; show({ item: '' }, true); queueMicrotask(() => shareRecord(name)) }
      fill(place, !records.length ? h('div', { class: 'empty' }, icon('shares'), h('h2', null, view.scope === 'shared' ? 'Nothing is shared with this user' : 'This user shares nothing'), h('p', null, 'A record of a custom zone is shared with all records below it.'))
        : [...records].sort((a, b) => Number(b === chosen) - Number(a === chosen)).map(share => shareCard(/** @type {any} */ (share))))
    } catch (error) { fill(place, refusalView(error, { retry: read })) }
  }

  /** @param {any} share */
  function shareCard(share) {
    const isOwner = share.currentUserParticipant?.type === 'OWNER' || share.zoneID?.ownerRecordName === actingUser()
    const canWrite = isOwner && !session.readOnly
    const link = share.shortGUID ? `https://www.icloud.com/share/${share.shortGUID}` : ''
    const change = async edit => {
      try {
        const [saved] = await modify([{ operationType: 'update', record: { recordName: share.recordName, recordType: share.recordType, recordChangeTag: share.recordChangeTag, fields: {}, publicPermission: share.publicPermission, participants: share.participants, ...edit } }], share.zoneID)
        if (saved.serverErrorCode) throw refusalOf(saved, 'records/modify')
        await read()
      } catch (error) { say(error.message, { kind: 'bad', seconds: 10 }); await read() }
    }
    const root = h('span', { class: 'note' })
    if (share.shortGUID) shareRequest('records/resolve', share.shortGUID).then(result => fill(root, 'of ', recordLink({ recordName: result.rootRecordName, zoneID: share.zoneID }, result.rootRecord?.recordType)), () => {})
    return h('div', { class: 'card' },
      h('header', null, h('h2', null, share.fields['cloudkit.title']?.value ?? 'A share'), root, h('span', { class: 'badge' }, share.zoneID?.zoneName), h('span', { class: 'space' }),
        link && [h('code', { class: 'note' }, share.shortGUID), copyButton(link, 'Copy the link')],
        session.users.length > 1 && share.shortGUID && menuButton('Accept as …', () => session.users.filter(user => user.userRecordName !== share.zoneID?.ownerRecordName).map(user => ({ text: identityName(user.userRecordName), icon: 'person', note: user.emailAddress, act: () => accept(share.shortGUID, user.userRecordName === session.userRecordName ? '' : user.userRecordName) })), { icon: 'person', kind: 'named' }),
        canWrite && button('Stop sharing', async () => {
          if (!await ask('Stop sharing?', 'The record stays. The others no longer see it.', 'Stop sharing', { kind: 'danger' })) return
          const [reply] = await modify([{ operationType: 'delete', record: { recordName: share.recordName, recordChangeTag: share.recordChangeTag } }], share.zoneID)
          if (reply.serverErrorCode) say(reply.reason ?? '', { kind: 'bad' })
          await read()
        }, { icon: 'trash', quiet: true })),
      h('div', { class: 'scroll-x' }, h('table', { class: 'plain-table' },
        h('thead', null, h('tr', null, ['Participant', 'Role', 'Status', 'Permission'].map(title => h('th', { scope: 'col' }, title)), h('td'))),
        h('tbody', null, (share.participants ?? []).map(participant => h('tr', null,
          h('td', null, personName(participant), h('span', { class: 'note' }, ` ${participant.userIdentity?.lookupInfo?.emailAddress ?? ''}`)),
          h('td', { class: 'note' }, participant.type?.toLowerCase()),
          h('td', null, h('span', { class: `badge ${participant.acceptanceStatus === 'ACCEPTED' ? 'good' : 'warn'}` }, participant.acceptanceStatus?.toLowerCase())),
          h('td', null, canWrite && participant.type !== 'OWNER' ? h('select', { 'aria-label': `Permission of ${personName(participant)}`, onchange: event => change({ participants: share.participants.map(other => other === participant ? { ...other, permission: event.target.value } : other) }) }, options(permissions, participant.permission)) : (permissions.find(([value]) => value === participant.permission)?.[1] ?? participant.permission)),
          h('td', { class: 'acts' }, canWrite && participant.type !== 'OWNER' && button(`Remove ${personName(participant)}`, () => change({ participants: share.participants.filter(other => other !== participant) }), { icon: 'close', quiet: true }))))))),
      h('div', { class: 'card-body form-actions' }, h('label', { class: 'check' }, 'With the link alone one can ', canWrite ? h('select', { 'aria-label': 'Public permission', onchange: event => change({ publicPermission: event.target.value }) }, options(publicPermissions, share.publicPermission)) : publicPermissions.find(([value]) => value === share.publicPermission)?.[1] ?? share.publicPermission), h('span', { class: 'space' }),
        canWrite && button('Invite', () => invite(share, change), { icon: 'plus', kind: 'named' })))
  }

  async function invite(share, change) {
    const participant = await askForm('Invite', [labelled('Person', h('input', { name: 'person', required: true, list: 'people', autocomplete: 'off' }), 'E-mail address, phone number or user record name'), peopleList(), labelled('Permission', h('select', { name: 'permission' }, options(permissions, 'READ_ONLY')))], 'Invite', data => invitation(String(data.get('person')), String(data.get('permission'))))
    if (participant) await change({ participants: [...share.participants, participant] })
  }
  const peopleList = () => h('datalist', { id: 'people' }, session.users.filter(user => user.userRecordName !== actingUser()).map(user => h('option', { value: user.emailAddress ?? user.userRecordName }, userName(user.userRecordName))))

  /** @param {string} name */
  async function shareRecord(name) {
    const custom = (await zones()).map(zone => zone.zoneID).filter(zone => zone.zoneName !== '_defaultZone')
    if (!custom.length) { say('Records of custom zones can be shared; there is no such zone.', { kind: 'bad' }); return }
    const made = await askForm('Share a record', [
      h('div', { class: 'form-row' }, labelled('Record name', h('input', { name: 'name', required: true, value: name, class: 'mono', spellcheck: 'false', autocomplete: 'off' })), labelled('Zone', h('select', { name: 'zone' }, custom.map((zone, index) => h('option', { value: index, selected: zone.zoneName === view.zone }, zone.zoneName))))),
      labelled('Title', h('input', { name: 'title', autocomplete: 'off' }), 'What the invited see'),
      labelled('Invite', h('input', { name: 'people', list: 'people', autocomplete: 'off' }), 'E-mail addresses, between commas; may be empty'), peopleList(),
      h('div', { class: 'form-row' }, labelled('They', h('select', { name: 'permission' }, options(permissions, 'READ_ONLY'))), labelled('With the link alone one can', h('select', { name: 'public' }, options(publicPermissions, 'NONE')))),
    ], 'Share', async data => {
      const zone = custom[Number(data.get('zone'))]
      let [record] = await lookup([String(data.get('name')).trim()], zone)
      if (record.serverErrorCode) throw refusalOf(record, 'records/lookup')
      if (record.share) throw new Error('The record is shared already.')
      if (!record.shortGUID) {
        [record] = await modify([{ operationType: 'update', record: { recordName: record.recordName, recordType: record.recordType, recordChangeTag: record.recordChangeTag, createShortGUID: true, fields: {} } }], zone)
        if (record.serverErrorCode) throw refusalOf(record, 'records/modify')
      }
      const title = String(data.get('title')).trim()
      const [share] = await modify([{ operationType: 'create', record: {
        recordName: `Share-${crypto.randomUUID().toUpperCase()}`, recordType: 'cloudkit.share', fields: title ? { 'cloudkit.title': { value: title, type: 'STRING' } } : {}, forRecord: { recordName: record.recordName, recordChangeTag: record.recordChangeTag },
        publicPermission: data.get('public'), participants: String(data.get('people')).split(',').filter(text => text.trim()).map(person => invitation(person, String(data.get('permission')))),
      } }], zone)
      if (share.serverErrorCode) throw refusalOf(share, 'records/modify')
      return share
    })
    if (made) { say('The record is shared. The service sends no invitation: give people the link.'); await read() }
  }

  /** @param {string} shortGUID @param {string} as */
  async function accept(shortGUID, as) {
    try {
      const result = await shareRequest('records/accept', shortGUID, as)
      say(`${identityName(as)} takes part. The records are in the shared database.`, { action: 'Show them', act: () => show({ section: 'records', item: result.rootRecord?.recordType ?? '', as, scope: 'shared', zone: '', owner: '', record: '' }) })
      await read()
    } catch (error) { openDialog('Not accepted', () => refusalView(error)) }
  }

  async function openLink() {
    const result = await askForm('What a link leads to', labelled('Link', h('input', { name: 'link', required: true, autocomplete: 'off', spellcheck: 'false', placeholder: 'https://www.icloud.com/share/…' })), 'Look', data => shareRequest('records/resolve', shortGUIDOf(String(data.get('link')))))
    if (!result) return
    const code = result.shortGUID?.value ?? result.share?.shortGUID
    openDialog(result.share?.fields?.['cloudkit.title']?.value ?? 'A share', () => h('div', { class: 'prose' },
      h('p', null, h('code', null, result.rootRecordName), result.rootRecord ? ` of the type ${result.rootRecord.recordType}` : '', ` in the zone ${result.zoneID?.zoneName} of ${personName({ userIdentity: result.ownerIdentity })}`),
      h('p', null, `${identityName(view.as)} is ${({ OWNER: 'the owner', PUBLIC_USER: 'someone with the link' })[result.participantType] ?? 'a participant'}, ${String(result.participantStatus).toLowerCase()}, and ${permissions.find(([value]) => value === result.participantPermission)?.[1] ?? 'has no permission yet'}.`),
      h('p', { class: 'note' }, `Database: ${result.databaseScope?.toLowerCase()}`)), {
      actions: close => [button('Close', () => close()), result.participantType !== 'OWNER' && button(`Accept as ${identityName(view.as)}`, () => { close(); accept(code, view.as) }, { kind: 'primary' })],
    })
  }

  await read()
  let timer = 0
  whileShown('change', element, () => { clearTimeout(timer); timer = setTimeout(read, 400) })
  return { element, commands: () => [{ text: 'Open a link of a share', act: openLink }, view.scope === 'private' && { text: 'Share a record', keys: 'n', act: () => shareRecord('') }].filter(Boolean) }
}

