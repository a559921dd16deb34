// cspell:disable -- addresses in several languages
import { describe, expect, it } from '@jest/globals';
import { mailAddressOf, needsSmtpUtf8 } from '../../../../../apps/shared/directory/mail-address.ts';

describe('an address for mail', () => {
  it.each([
    ['alice@example.com', 'alice@example.com'],
    ['carol@münchen.example', 'carol@xn--mnchen-3ya.example'],
    ['carol@xn--mnchen-3ya.example', 'carol@xn--mnchen-3ya.example'],
    ['иван@пример.рф', 'иван@xn--e1afmkfd.xn--p1ai'],
    ['用户@例え.jp', '用户@xn--r8jz45g.jp'],
    ['ann@EXÄMPLE.example', 'ann@xn--exmple-cua.example'],
  ])('%s is %s', (text, expected) => {
    expect(mailAddressOf(text)).toBe(expected);
    expect(needsSmtpUtf8(expected)).toBe(/^[^@]*[^ -~]/.test(text));
  });

  it.each([
    ...[
      '',
      'carol',
      'carol@',
      '@münchen.example',
      'a b@münchen.example',
      'ä..b@münchen.example',
      'ä@münchen',
      'ä@127.0.0.1',
    ],
    ...[
      'ä@b@münchen.example',
      'ä\r\nBcc: x@münchen.example',
      'ä\u202e@münchen.example',
      '<ä@münchen.example>',
      'ä,b@münchen.example',
    ],
    ...['ä@mün chen.example', 'ä@münchen.example/x', `${'ä'.repeat(65)}@münchen.example`],
  ])('%j is none', (text) => {
    expect(mailAddressOf(text)).toBeUndefined();
  });
});
