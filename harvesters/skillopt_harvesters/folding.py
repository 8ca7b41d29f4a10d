"""Text as patterns are matched on it: folded character for character, so that places stay the same.

Fragments are taken out of the original text at the place where the folded one matched, so nothing folded
ever reaches a check.
"""

from __future__ import annotations

_TRADITIONAL = (
    "對錯沒問題請別應該這個還實現寫過時結編號條樣裡後給讓開關長說話嗎麼為謝認識習運執刪數據庫腳發構設計測試檢審總"
    "譯釋顯換調選項務須絕報敗異亂復複雜簡單終滿順繼續兩誤記統規約慣風輸從來與無會夠較變類線達處慮碼進動態載覽維護"
    "參級標籤頁圖導員質難邊隊濾減壓縮語詞畫確準擾勞厲讚優證隨聽種幾誰權僅見視覺歡愛氣擔銷滾歸檔節醜寬淺細潰頓啟裝"
    "備義並併適頭盡當帶補貼網絡糾綠斷壞棄議論歷臺內嗯於麽"
)
_SIMPLIFIED = (
    "对错没问题请别应该这个还实现写过时结编号条样里后给让开关长说话吗么为谢认识习运执删数据库脚发构设计测试检审总"
    "译释显换调选项务须绝报败异乱复复杂简单终满顺继续两误记统规约惯风输从来与无会够较变类线达处虑码进动态载览维护"
    "参级标签页图导员质难边队滤减压缩语词画确准扰劳厉赞优证随听种几谁权仅见视觉欢爱气担销滚归档节丑宽浅细溃顿启装"
    "备义并并适头尽当带补贴网络纠绿断坏弃议论历台内嗯于么"
)
_FOLDED = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},  # full-width forms of ASCII
    **{ord(one): ord(other) for one, other in zip(_TRADITIONAL, _SIMPLIFIED, strict=True)},
    **dict.fromkeys((0x2018, 0x2019, 0x02BC, 0x2032), ord("'")),
    **dict.fromkeys((0x300C, 0x300E, 0x201E, 0x00AB), ord("“")),
    **dict.fromkeys((0x300D, 0x300F, 0x00BB), ord("”")),
    **dict.fromkeys((0x3002, 0xFF61, 0x2026), ord(".")),
    **dict.fromkeys((0x3000, 0x00A0, 0x202F), ord(" ")),
    0x3001: ord(","),
}


def fold_marks(text: str) -> str:
    """Return the text with half-width marks, straight apostrophes and simplified characters.

    The length is that of the text, and every character stands where it stood.
    """
    return text.translate(_FOLDED)
