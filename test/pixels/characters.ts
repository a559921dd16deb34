// cspell:disable -- letters that look like others
/** Characters that the differences between calls consist of. */
export const BLANKS = [' ', '  ', ' '.repeat(40), ...'\t\n\r\u00a0\u2003\u3000\u2800\u3164\u115f'];
export const UNSEEN = [...'\u200b\u200d\u2060\ufeff\u00ad\u034f\u202e\u2066\u200f\u061c\ufe0f'];
export const CONTROLS = [...'\u0000\u001b\b\f\u007f\u0085\u2028\ue000\u{e0061}\u{e0100}'];
export const MARKS = [...'\u0301\u0307\u0323\u0338\u20dd\u0489\u064b\u093f\u3099'];

const pairsIn = (text: string) => text.split(' ').map((one) => [...one]);

/** A character, and its lookalike. */
export const ALIKE = pairsIn(
  `aа aɑ aα a𝚊 aａ eе oо oο oօ o૦ cс cϲ pр iі iⅰ iı lӏ lا l| l1 lI 1I 0O xх ` +
    `x× yу uս nո sѕ vν vⅴ wԝ dԁ gɡ hһ jј K\u212a mｍ .․ .。 .｡ /∕ /⁄ /⟋ ;\u037e ;； :： :ː ` +
    `:∶ -‐ -– -− -⁃ '’ 'ʹ 'ʼ "“ ,‚ !ǃ ?？ *∗ ~∼ <‹ =᐀ _ـ $＄ \`‵ (❨ |∣ |ǀ \\∖ \\＼ ` +
    `&＆ %％ s\u{a731} rnm vvw`,
);

/** Letters of other scripts, in pairs that look alike or do not. A machine may lack a font for many of them. */
export const FOREIGN = pairsIn(
  `東京 南京 未末 土士 力カ へヘ 一ー 工エ 〇○ يی كک هة ىي सश कक़ לו רד ღლ ଠ० ГΓ ПΠ ФΦ ßβ đð ` +
    `ĐÐ şș ţț ěĕ éè ếề ạa øo µμ °º ·• —ー —― ─— –‒ 🎉🎊 ✅☑ 😀😁 ①② ＡＢ 가각 ᄀㄱ \u{20000}\u{20001} \u{1f9ff}\u{1fa70} ` +
    `ꙮꙭ 𐌰𐌱 ㎏㏀ ™℠ ½⅓`,
);
