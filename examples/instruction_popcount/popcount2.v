// rd and sixteen weights of two bits times two planes of bits, added: bits that are 1 in both are counted.
module popcount2 (
    input wire [31:0] rd,
    input wire [31:0] rs1,
    input wire [31:0] rs2,
    output wire [31:0] result
);
  function [4:0] ones(input [15:0] bits);
    integer i;
    begin
      ones = 0;
      for (i = 0; i < 16; i = i + 1) ones = ones + {4'd0, bits[i]};
    end
  endfunction

  wire [4:0] low_low = ones(rs1[15:0] & rs2[15:0]);
  wire [4:0] low_high = ones(rs1[15:0] & rs2[31:16]);
  wire [4:0] high_low = ones(rs1[31:16] & rs2[15:0]);
  wire [4:0] high_high = ones(rs1[31:16] & rs2[31:16]);
  wire signed [8:0] sum = $signed({4'd0, low_low}) + $signed({3'd0, high_low, 1'b0}) - $signed({3'd0, low_high, 1'b0}) -
      $signed({2'd0, high_high, 2'b0});
  assign result = rd + {{23{sum[8]}}, sum};
endmodule
